// Finds the route of a request. A table with a duplicate, a malformed pattern or a route without guard is not built:
// nothing is served that has no declared policy (X1).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/net/http.hpp"

namespace orbit::net {

class Router {
 public:
  static Result<Router> build(std::vector<Route> routes);

  struct Match {
    const Route* route = nullptr;  // null: the path is unknown (allowed is empty) or knows other methods only
    std::map<std::string, std::string> path_params;
    std::vector<Method> allowed;  // filled when route is null
  };
  // The most specific pattern decides, segment by segment: literal, then {param}, then {rest...}. Methods come after: a
  // path that matches a literal never falls back to a parameter's route because of its method. GET answers HEAD unless
  // the path has a HEAD route of its own. No method: only the path is looked at (to name the allowed).
  Match match(std::optional<Method> method, const std::vector<std::string>& segments) const;

 private:
  static constexpr std::size_t method_count = 6;
  struct Compiled {
    Route route;
    std::vector<std::string> param_names;
  };
  using Methods = std::array<const Compiled*, method_count>;
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
    std::unique_ptr<Node> param;
    Methods here{};
    Methods rest{};
  };

  Result<void> add(std::unique_ptr<Compiled> compiled);
  static const Methods* find(const Node& node, const std::vector<std::string>& segments, std::size_t index,
                             std::vector<std::string>& values);

  std::vector<std::unique_ptr<Compiled>> routes_;
  std::unique_ptr<Node> root_ = std::make_unique<Node>();
};

}  // namespace orbit::net
