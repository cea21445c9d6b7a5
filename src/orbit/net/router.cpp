#include "orbit/net/router.hpp"

#include <algorithm>

#include "orbit/base/text.hpp"
#include "orbit/net/url.hpp"

namespace orbit::net {
namespace {

std::size_t index_of(Method method) {
  return static_cast<std::size_t>(method);
}

bool is_param_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Failure bad_route(const Route& route, std::string message, std::string hint = {}) {
  return fail(ErrorCode::invalid_argument, std::move(message),
              std::string(to_string(route.method)) + " " + route.pattern, std::move(hint));
}

Result<void> check_options(const Route& route) {
  if (!route.guard) return bad_route(route, "has no guard", "every route declares its policy");
  if (!route.handler) return bad_route(route, "has no handler");
  const bool bodiless = route.method == Method::get || route.method == Method::head;
  if (bodiless && route.options.body != BodyKind::none)
    return bad_route(route, "takes a body, which GET and HEAD have not");
  if (route.options.body == BodyKind::memory && route.options.max_body_bytes <= 0)
    return bad_route(route, "has no limit for a body held in memory");
  return {};
}

}  // namespace

std::string_view to_string(Method method) {
  switch (method) {
    case Method::get:
      return "GET";
    case Method::head:
      return "HEAD";
    case Method::post:
      return "POST";
    case Method::put:
      return "PUT";
    case Method::patch:
      return "PATCH";
    case Method::delete_:
      return "DELETE";
  }
  return "?";
}

Result<Router> Router::build(std::vector<Route> routes) {
  Router router;
  for (Route& route : routes) {
    ORBIT_TRY(check_options(route));
    auto compiled = std::make_unique<Compiled>();
    compiled->route = std::move(route);
    ORBIT_TRY(router.add(std::move(compiled)));
  }
  return router;
}

Result<void> Router::add(std::unique_ptr<Compiled> compiled) {
  const Route& route = compiled->route;
  if (!route.pattern.starts_with('/')) return bad_route(route, "does not begin with '/'");
  std::vector<std::string> parts;
  if (route.pattern.size() > 1) parts = split(std::string_view(route.pattern).substr(1), '/');

  Node* node = root_.get();
  bool rest = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    if (part.find_first_of("{}") == std::string::npos) {
      const auto decoded = decode_path("/" + part);
      if (!decoded || decoded->size() != 1 || decoded->front() != part)
        return bad_route(route, "the segment '" + part + "' is not literal text");
      std::unique_ptr<Node>& child = node->literals[part];
      if (!child) child = std::make_unique<Node>();
      node = child.get();
      continue;
    }
    if (part.size() < 2 || part.front() != '{' || part.back() != '}')
      return bad_route(route, "a parameter is a whole segment: {name}");
    std::string name = part.substr(1, part.size() - 2);
    rest = name.ends_with("...");
    if (rest) name.resize(name.size() - 3);
    if (!is_param_name(name)) return bad_route(route, "parameter names are made of a-z, 0-9 and _");
    if (rest && i + 1 != parts.size()) return bad_route(route, "{" + name + "...} must be the last segment");
    if (std::find(compiled->param_names.begin(), compiled->param_names.end(), name) != compiled->param_names.end())
      return bad_route(route, "has the parameter '" + name + "' twice");
    compiled->param_names.push_back(std::move(name));
    if (rest) break;
    if (!node->param) node->param = std::make_unique<Node>();
    node = node->param.get();
  }

  const Compiled*& slot = (rest ? node->rest : node->here)[index_of(route.method)];
  if (slot != nullptr) return bad_route(route, "is declared twice, also as " + slot->route.pattern);
  slot = compiled.get();
  routes_.push_back(std::move(compiled));
  return {};
}

const Router::Methods* Router::find(const Node& node, const std::vector<std::string>& segments, std::size_t index,
                                    std::vector<std::string>& values) {
  const auto any = [](const Methods& methods) {
    return std::any_of(methods.begin(), methods.end(), [](const Compiled* compiled) { return compiled != nullptr; });
  };
  if (index == segments.size()) return any(node.here) ? &node.here : nullptr;

  // Depth is that of the patterns, not of the request: no input makes this recurse deeper than the deepest route.
  if (const auto literal = node.literals.find(segments[index]); literal != node.literals.end())
    if (const Methods* found = find(*literal->second, segments, index + 1, values)) return found;
  if (node.param) {
    values.push_back(segments[index]);
    if (const Methods* found = find(*node.param, segments, index + 1, values)) return found;
    values.pop_back();
  }
  if (any(node.rest)) {
    values.push_back(join({segments.begin() + static_cast<std::ptrdiff_t>(index), segments.end()}, "/"));
    return &node.rest;
  }
  return nullptr;
}

Router::Match Router::match(std::optional<Method> method, const std::vector<std::string>& segments) const {
  Match out;
  std::vector<std::string> values;
  const Methods* methods = find(*root_, segments, 0, values);
  if (methods == nullptr) return out;

  const Compiled* compiled = method ? (*methods)[index_of(*method)] : nullptr;
  if (compiled == nullptr && method == Method::head) compiled = (*methods)[index_of(Method::get)];
  if (compiled == nullptr) {
    for (std::size_t i = 0; i < method_count; ++i) {
      const auto candidate = static_cast<Method>(i);
      if ((*methods)[i] != nullptr || (candidate == Method::head && (*methods)[index_of(Method::get)] != nullptr))
        out.allowed.push_back(candidate);
    }
    return out;
  }
  out.route = &compiled->route;
  for (std::size_t i = 0; i < values.size(); ++i) out.path_params[compiled->param_names[i]] = std::move(values[i]);
  return out;
}

}  // namespace orbit::net
