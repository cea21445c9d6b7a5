// Names for runs whose owner gave none.
#pragma once

#include <string>

#include "orbit/ports/rng.hpp"

namespace orbit::server {

// "digits-brave-otter-07": pronounceable, at most 63 characters, a valid name. More digits with each try, so that a
// project with very many runs still finds a free one.
std::string generate_run_name(const std::string& project, Rng& rng, int tries_before);

}  // namespace orbit::server
