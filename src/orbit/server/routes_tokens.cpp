// Personal tokens: made by admins, shown once, kept as a digest.
#include "orbit/decide/catalog.hpp"
#include "orbit/server/routes_common.hpp"

namespace orbit::server {
namespace {

constexpr std::int64_t longest_life_s = std::int64_t{10} * 366 * 24 * 3600;

bool usable(const Token& token, WallTime now) {
  return !token.revoked_at && (!token.expires_at || now.ms < token.expires_at->ms);
}

Result<net::Response> create_token(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto request, body_of<wire::TokenRequest>(context));
  ORBIT_TRY(check_name(request.name, "name"));
  // Recorded as actor, where these mean Orbit itself.
  if (request.name == "orbit" || request.name == "runner")
    return fail(ErrorCode::invalid_argument, "this name is Orbit's own", "name", "choose another");
  const auto role = parse_role(request.role);
  if (!role)
    return fail(ErrorCode::invalid_argument, "is not a role", "role", "one of viewer, member, operator, admin");
  if (request.expires_in_s && (*request.expires_in_s < 1 || *request.expires_in_s > longest_life_s))
    return fail(ErrorCode::invalid_argument, fmt::format("must be from 1 to {}", longest_life_s), "expires_in_s");
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const auto tokens, reader->tokens());
  for (const Token& other : tokens)
    if (other.name == request.name && usable(other, context.now.wall))
      return fail(ErrorCode::conflict, fmt::format("a token named '{}' is in use", request.name), "name",
                  "revoke it first, or choose another name");

  const std::string text = make_token_text(context.api.rng);
  Token token;
  token.id = make_id<TokenId>(context.api.rng, context.now.wall);
  token.name = request.name;
  token.role = *role;
  token.secret = Sha256::of(text);
  token.created_at = context.now.wall;
  token.created_by = context.caller.name;
  if (request.expires_in_s) token.expires_at = WallTime{context.now.wall.ms + *request.expires_in_s * 1000};
  ORBIT_TRY(commit(context, [token](Now now) -> Result<Effects> { return decide::create_token(token, now); }));
  wire::TokenObject object = wire::token_object(token);
  object.token = text;
  return json_response(object, 201);
}

Result<net::Response> list_tokens(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const auto tokens, reader->tokens());
  std::vector<wire::TokenObject> objects;
  for (const Token& token : tokens) objects.push_back(wire::token_object(token));
  std::sort(objects.begin(), objects.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  ORBIT_TRY_ASSIGN(const auto page, page_of(context, objects, [](const auto& object) { return object.id; }));
  return json_response(page);
}

Result<net::Response> revoke_token(RouteContext& context) {
  ORBIT_TRY_ASSIGN(const TokenId id, TokenId::parse(path_param(context, "id")));
  ORBIT_TRY_ASSIGN(const auto reader, context.api.readers.reader());
  ORBIT_TRY_ASSIGN(const auto tokens, reader->tokens());
  const auto it = std::find_if(tokens.begin(), tokens.end(), [&](const Token& token) { return token.id == id; });
  if (it == tokens.end()) return fail(ErrorCode::not_found, "there is no such token", "id", "list the tokens");
  Token token = *it;
  if (!token.revoked_at) {
    const bool another_admin = std::any_of(tokens.begin(), tokens.end(), [&](const Token& other) {
      return other.id != id && other.role == Role::admin && usable(other, context.now.wall);
    });
    if (token.role == Role::admin && !another_admin)
      return fail(ErrorCode::conflict, "this is the last usable admin token", "id", "make another one first");
    ORBIT_TRY(commit(context, [token, actor = context.caller.name](Now now) -> Result<Effects> {
      return decide::revoke_token(token, actor, now);
    }));
    token.revoked_at = context.now.wall;
  }
  context.api.authenticator.forget(id);
  return json_response(wire::token_object(token));
}

}  // namespace

void add_token_routes(RouteTable& table) {
  using net::Method;
  const Access admin = Access::at_least(Role::admin);
  table
      .add(Method::post, "/api/v1/tokens", admin, "createToken", "Makes a token; its text is in this answer only",
           create_token)
      .takes<wire::TokenRequest>()
      .returns<wire::TokenObject>(201, "Created")
      .fails({409});
  table.add(Method::get, "/api/v1/tokens", admin, "listTokens", "Tokens, without their texts", list_tokens)
      .paged()
      .returns<wire::List<wire::TokenObject>>();
  table
      .add(Method::delete_, "/api/v1/tokens/{id}", admin, "revokeToken", "Revokes a token; at once and for good",
           revoke_token)
      .returns<wire::TokenObject>()
      .fails({404, 409});
}

}  // namespace orbit::server
