// Events as lines for people.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orbit/cli/render.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::cli {

std::string event_table(const std::vector<wire::EventObject>& events, WallTime now, const Terminal& terminal);
// Of one run: its id is left out, the number of the attempt (by attempt id) is shown.
std::string event_table_of_run(const std::vector<wire::EventObject>& events,
                               const std::map<std::string, std::int32_t>& attempts, WallTime now,
                               const Terminal& terminal);
// One line for `event ls --follow`.
std::string event_line(const wire::EventObject& event, const Terminal& terminal);

}  // namespace orbit::cli
