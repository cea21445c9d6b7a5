// What every command gets: where to write, what the terminal can do, which server, what time it is.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/base/time.hpp"
#include "orbit/cli/config.hpp"
#include "orbit/cli/render.hpp"

namespace orbit::cli {

class Api;  // api.hpp

struct GlobalOptions {
  std::optional<std::string> server;
  std::optional<std::string> token;
  std::string output = "text";
};

struct Context {
  std::ostream& out;
  std::ostream& err;
  Terminal terminal;
  Environment environment;
  GlobalOptions options;
  std::vector<std::string> rest;  // what followed "--"

  bool json() const { return options.output == "json"; }
  WallTime now() const;
  Result<Connection> connection() const;
  Result<std::unique_ptr<Api>> api() const;
  // The API's own text, with one newline at its end.
  void print_json(const std::string& body);
  // A remark to stderr for people.
  void note(std::string_view text);
};

// "orbit: field: message" and a line with the hint.
std::string error_text(const Error& error, bool colour);

}  // namespace orbit::cli
