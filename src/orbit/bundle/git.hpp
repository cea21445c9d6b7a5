// The git command, without anything of the user's or the machine's settings. Internal to bundle/.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::bundle {

struct GitCall {
  std::vector<std::string> arguments;
  std::filesystem::path directory;
  std::map<std::string, std::string> environment{};  // beside the scrubbed one
  int stdin_fd = -1;
  int stdout_fd = -1;  // -1: what it says comes back as text
  // Instead of collecting the output: reads it from the descriptor while git runs. What it returns is the answer's
  // text.
  std::function<Result<std::string>(int fd)> read{};
};

struct GitAnswer {
  int exit_code = 0;
  std::string out;
  std::string err;  // the beginning, as valid UTF-8 on one line
};

class Git {
 public:
  // `unsupported` when there is no git.
  static Result<Git> find();

  // What the user's and the machine's own settings trust although it belongs to somebody else (safe.directory): the one
  // thing of them that counts, because a mounted folder often has a foreign owner. For the calls that follow. False
  // when they trust nothing.
  Result<bool> adopt_trust();

  // Any exit code; an error only when git could not be run or was killed.
  Result<GitAnswer> ask(const GitCall& call) const;
  // Exit code 0, or an error that holds what git said.
  Result<std::string> run(const GitCall& call) const;

 private:
  Result<GitAnswer> ask_with(const GitCall& call, std::map<std::string, std::string> environment) const;

  std::string program_;
  std::vector<std::string> trusted_;
};

}  // namespace orbit::bundle
