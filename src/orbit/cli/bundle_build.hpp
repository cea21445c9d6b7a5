// A bundle on disk without a server: shaped, resolved and assembled as the server does, so that its digest is the same.
#pragma once

#include <boost/describe.hpp>
#include <filesystem>
#include <optional>
#include <string>

#include "orbit/bundle/bundle.hpp"
#include "orbit/cli/submit_plan.hpp"
#include "orbit/domain/execution.hpp"

namespace orbit::cli {

// runtime/hand.json: what a hand run needs and the frozen part must not say.
struct HandRequest {
  std::int32_t schema = 1;
  std::string project;
  ExecutionRequest request;
};
BOOST_DESCRIBE_STRUCT(HandRequest, (), (schema, project, request))
constexpr const char* hand_request_file = "runtime/hand.json";

struct BuildOptions {
  SubmitOptions submission;
  std::string out;
  std::optional<std::string> template_file;
  std::optional<std::string> task_types;  // folder with further ones
};

struct BuiltBundle {
  Digest digest;
  std::filesystem::path directory;
  std::int64_t files = 0;
  std::int64_t size_bytes = 0;
};

// `out` must not exist; it appears whole or not at all.
Result<BuiltBundle> build_bundle(const BuildOptions& options, const std::vector<std::string>& command,
                                 const std::filesystem::path& current);

// The digest that bundle.json of a directory has.
Result<Digest> digest_of_bundle(const std::filesystem::path& directory);

}  // namespace orbit::cli
