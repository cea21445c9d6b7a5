// login and doctor.
#include <termios.h>
#include <unistd.h>

#include <iostream>

#include "orbit/cli/api.hpp"
#include "orbit/cli/commands.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/doctor.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::cli {
namespace {

// One line from standard input; on a terminal it is asked for and not echoed.
Result<std::string> read_token(Context& context) {
  const bool asks = ::isatty(STDIN_FILENO) == 1;
  termios before{};
  const bool hides = asks && ::tcgetattr(STDIN_FILENO, &before) == 0;
  if (asks) context.err << "token: " << std::flush;
  if (hides) {
    termios silent = before;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  std::string line;
  const bool read = static_cast<bool>(std::getline(std::cin, line));
  if (hides) {
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    context.err << "\n";
  }
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\n')) line.pop_back();
  if (!read && !asks)
    return fail(ErrorCode::invalid_argument, "is missing: standard input was empty", "--token",
                "redirect a file that holds it (orbit login URL < DATA/keys/admin.token), set ORBIT_TOKEN, or run this "
                "at a terminal to be asked; an admin makes tokens with: orbit token create NAME");
  if (!read || line.empty())
    return fail(ErrorCode::invalid_argument, "is missing", "--token",
                "an admin makes one with: orbit token create NAME; the first is in DATA/keys/admin.token");
  return line;
}

// What was handed over for this command wins over what the environment happens to hold.
Result<std::string> find_token(Context& context) {
  const std::optional<std::string>& flag = context.options.token;
  if (flag && *flag != "-") return *flag;
  const auto set = flag ? std::nullopt : context.environment("ORBIT_TOKEN");
  if (set && ::isatty(STDIN_FILENO) == 1) return *set;
  auto read = read_token(context);
  if (!read && set) return *set;  // scripts have nothing, or /dev/null, for standard input
  return read;
}

Result<int> login(Context& context, const std::string& url) {
  GlobalOptions& options = context.options;
  options.server = url;
  ORBIT_TRY_ASSIGN(options.token, find_token(context));
  ORBIT_TRY_ASSIGN(const Connection connection, context.connection());
  ORBIT_TRY_ASSIGN(const auto api, Api::open(connection));
  ORBIT_TRY_ASSIGN(const std::string body, api->get(api_path({"whoami"})));
  ORBIT_TRY_ASSIGN(const auto who, Api::decode<wire::WhoAmI>(body));
  ORBIT_TRY_ASSIGN(const auto path, config_path(context.environment));
  ORBIT_TRY(save_config(path, ConfigFile{connection.server, connection.token}));
  if (const auto set = context.environment("ORBIT_TOKEN"); set && set != connection.token)
    context.note("ORBIT_TOKEN is set to another token, and commands take that one: unset ORBIT_TOKEN");
  if (context.json())
    context.print_json(body);
  else
    context.out << fmt::format("logged in to {} as {} ({}); written to {}\n", connection.server, escape(who.name),
                               escape(who.role), path.string());
  return 0;
}

}  // namespace

void add_account_commands(Command& root) {
  auto url = std::make_shared<std::string>();
  root.add("login",
           "Remember a server and a token in ~/.config/orbit/config.json: --token, what is piped in, or ORBIT_TOKEN")
      .positional("url", url.get(), "the server: http://host:7070")
      .examples(
          "orbit login http://127.0.0.1:7070 < data/keys/admin.token\n"
          "orbit login http://orbit.example:7070 --token \"$TOKEN\"")
      .run([url](Context& context) { return login(context, *url); });
  auto data = std::make_shared<DoctorOptions>();
  root.add("doctor", "Look at everything orbit needs here, and say what to do about what is missing")
      .option("--data", "DIR", &data->data,
              "data directory of the server, when it runs on this machine; the default one unless given")
      .run([data](Context& context) { return doctor(context, *data); });
}

}  // namespace orbit::cli
