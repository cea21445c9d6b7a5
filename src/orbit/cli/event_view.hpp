// Events as lines for people.
#pragma once

#include <string>
#include <vector>

#include "orbit/cli/render.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::cli {

std::string event_table(const std::vector<wire::EventObject>& events, WallTime now, const Terminal& terminal);
// One line for `event ls --follow`.
std::string event_line(const wire::EventObject& event, const Terminal& terminal);

}  // namespace orbit::cli
