// Compiled in: probes/*.py, what the runner asks of an interpreter.
#pragma once

#include <span>

#include "orbit/base/embedded.hpp"

namespace orbit::runner {

std::span<const EmbeddedFile> embedded_probes();

}  // namespace orbit::runner
