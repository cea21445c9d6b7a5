// token create|ls|revoke.
#include <ostream>

#include "orbit/cli/api.hpp"
#include "orbit/cli/commands.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/views.hpp"

namespace orbit::cli {
namespace {

struct CreateArgs {
  wire::TokenRequest request;
  std::optional<std::string> expires;
};

Result<int> token_create(Context& context, const CreateArgs& args) {
  wire::TokenRequest request = args.request;
  if (args.expires) {
    auto seconds = parse_duration_s(*args.expires);
    if (!seconds) {
      seconds.error().field = "--expires";
      return fail(std::move(seconds).error());
    }
    request.expires_in_s = *seconds;
  }
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  return show_one<wire::TokenObject>(context, api->send(net::Method::post, api_path({"tokens"}), json::encode(request)),
                                     [&](const wire::TokenObject& token) {
                                       // The text alone on stdout, so that it can be piped into a file; it is shown
                                       // this once.
                                       context.out << token.token.value_or("") << "\n";
                                       context.note(fmt::format("token {} ({}) for {}; it is not shown again", token.id,
                                                                escape(token.role), escape(token.name)));
                                     });
}

Result<int> token_ls(Context& context, const PageOptions& args) {
  std::vector<wire::TokenObject> tokens;
  const auto target = [](const PageOptions& page) {
    return api_path({"tokens"}) +
           query({{"limit", page.limit ? std::optional(std::to_string(*page.limit)) : std::nullopt},
                  {"cursor", page.cursor}});
  };
  return show_list(context, target, args, into(tokens), [&] {
    const WallTime now = context.now();
    Table table({{"NAME", false, true}, {"ROLE"}, {"STATE"}, {"CREATED"}, {"BY", false, true}, {"ID"}});
    for (const wire::TokenObject& token : tokens) {
      Cell state{"valid", Colour::green};
      if (token.revoked_at)
        state = {"revoked", Colour::dim};
      else if (token.expires_at && token.expires_at->ms <= now.ms)
        state = {"expired", Colour::dim};
      else if (token.expires_at)
        state.text = "ends " + ago(*token.expires_at, now);
      table.add({{token.name}, {token.role}, state, {ago(token.created_at, now)}, {token.created_by}, {token.id}});
    }
    table.print(context.out, context.terminal);
  });
}

}  // namespace

void add_token_commands(Command& root) {
  Command& group = root.add("token", "Personal tokens (admins)");
  auto create = std::make_shared<CreateArgs>();
  create->request.role = "member";
  group.add("create", "Make a token; its text is shown once")
      .positional("name", &create->request.name, "whose it is: recorded as who did something")
      .option("--role", "ROLE", &create->request.role, "what it may do; member unless given",
              {"viewer", "member", "operator", "admin"})
      .option("--expires", "DURATION", &create->expires, "when it ends: 12h, 30d; never unless given")
      .examples("orbit token create ada --role operator --expires 90d")
      .run([create](Context& context) { return token_create(context, *create); });
  auto page = std::make_shared<PageOptions>();
  group.add("ls", "List tokens")
      .option("--limit", "N", &page->limit, "how many at most; 100 unless given")
      .option("--cursor", "CURSOR", &page->cursor, "go on after a page (next_cursor of -o json)")
      .run([page](Context& context) { return token_ls(context, *page); });
  auto id = std::make_shared<std::string>();
  group.add("revoke", "End a token at once and for good")
      .positional("id", id.get(), "its id, see orbit token ls")
      .run([id](Context& context) -> Result<int> {
        ORBIT_TRY_ASSIGN(const auto api, context.api());
        return show_one<wire::TokenObject>(context, api->send(net::Method::delete_, api_path({"tokens", *id}), {}),
                                           [&](const wire::TokenObject& token) {
                                             context.out << fmt::format("token {} of {} is revoked\n", token.id,
                                                                        escape(token.name));
                                           });
      });
}

}  // namespace orbit::cli
