#include "orbit/cli/context.hpp"

#include <ostream>

#include "orbit/cli/api.hpp"
#include "orbit/platform/system.hpp"

namespace orbit::cli {

WallTime Context::now() const {
  return platform::SystemClock().now().wall;
}

Result<Connection> Context::connection() const {
  return find_connection(options.server, options.token, environment);
}

Result<std::unique_ptr<Api>> Context::api() const {
  ORBIT_TRY_ASSIGN(Connection found, connection());
  return Api::open(std::move(found));
}

void Context::print_json(const std::string& body) {
  out << body;
  if (body.empty() || body.back() != '\n') out << '\n';
}

void Context::note(std::string_view text) {
  err << "orbit: " << text << '\n' << std::flush;
}

std::string error_text(const Error& error, bool colour) {
  std::string out = paint("orbit:", Colour::red, colour) + " ";
  if (!error.field.empty()) out += escape(error.field) + ": ";
  out += escape(error.message) + "\n";
  if (!error.hint.empty()) out += paint("hint:", Colour::cyan, colour) + " " + escape(error.hint) + "\n";
  return out;
}

}  // namespace orbit::cli
