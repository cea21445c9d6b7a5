#include "orbit/cli/tree.hpp"

#include <ostream>

#include "orbit/base/json.hpp"
#include "orbit/cli/commands.hpp"
#include "orbit/cli/completion.hpp"
#include "orbit/cli/version.hpp"
#include "orbit/wire/problem.hpp"

namespace orbit::cli {
namespace {

std::string& version_text() {
  static std::string text = "unknown";
  return text;
}

Result<int> show_version(Context& context) {
  if (context.json())
    context.print_json(json::dump(json::Object{{"version", version()}}));
  else
    context.out << "orbit " << version() << "\n";
  return 0;
}

void add_completion(Command& root) {
  Command& group = root.add("completion", "Print a completion script for a shell").local();
  using Script = std::string (*)(const Command&, const std::vector<Argument>&);
  const auto add = [&](const char* shell, const char* example, Script script) {
    group.add(shell, std::string("Completion for ") + shell)
        .examples(example)
        .run([&root, script](Context& context) -> Result<int> {
          if (context.json())
            return fail(ErrorCode::invalid_argument, "a script for a shell is not JSON", "--output", "leave -o out");
          GlobalOptions unused;
          context.out << script(root, global_arguments(unused));
          return 0;
        });
  };
  add("bash", "source <(orbit completion bash)", bash_completion);
  add("zsh", "source <(orbit completion zsh)", zsh_completion);
  add("fish", "orbit completion fish > ~/.config/fish/completions/orbit.fish", fish_completion);
}

}  // namespace

const std::string& version() {
  return version_text();
}
void set_version(std::string text) {
  version_text() = std::move(text);
}

std::unique_ptr<Command> make_tree(const Program& program) {
  auto root = std::make_unique<Command>(
      "orbit", "Training runs as records: named, retried, audited, traced to the models they made");
  if (program.commands) program.commands(*root);
  add_account_commands(*root);
  add_project_commands(*root);
  add_submit_command(*root);
  add_run_commands(*root);
  add_queue_command(*root);
  add_event_commands(*root);
  add_catalog_commands(*root);
  add_bundle_commands(*root);
  add_token_commands(*root);
  add_completion(*root);
  root->add("version", "Print the version of this program").local().run(show_version);
  root->examples(
      "orbit server --data ./data\norbit login http://127.0.0.1:7070 < data/keys/admin.token\n"
      "orbit submit -f examples/digits/run.yaml --follow\norbit run ls");
  return root;
}

std::vector<Argument> global_arguments(GlobalOptions& options) {
  return {
      {"--server", "URL", "the server; also ORBIT_SERVER, or what orbit login wrote", &options.server, false, {}, true},
      {"--token",
       "TOKEN",
       "the token; better ORBIT_TOKEN or orbit login: other users see command lines",
       &options.token,
       false,
       {},
       true},
      {"-o,--output", "FORMAT", "text for people, or the API's JSON", &options.output, false, {"text", "json"}}};
}

int run_command(const Command& root, Context& context, const std::vector<std::string>& arguments) {
  const auto report = [&](const Error& error) {
    context.out.flush();
    context.err << error_text(error, context.terminal.colour_err) << std::flush;
    return wire::exit_code(error.code);
  };
  const auto globals = global_arguments(context.options);
  if (!arguments.empty() && (arguments[0] == "--version" || arguments[0] == "-V")) {
    show_version(context).value();
    context.out.flush();
    return 0;
  }
  auto parsed = parse(root, globals, arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) {
    std::ostream& to = parsed->asked ? context.out : context.err;
    to << parsed->command->help(globals, context.terminal.width) << std::flush;
    return parsed->asked ? 0 : wire::exit_code(ErrorCode::invalid_argument);
  }
  context.rest = std::move(parsed->rest);
  auto code = parsed->command->handler()(context);
  context.out.flush();
  if (!code) return report(code.error());
  // A full disk or a closed pipe behind stdout is not a success.
  if (*code == 0 && !context.out.good()) return report(Error{ErrorCode::io, "cannot be written", "standard output"});
  return *code;
}

}  // namespace orbit::cli
