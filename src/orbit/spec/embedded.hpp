// Compiled in: examples/templates/*.yaml and task-types/*.yaml.
#pragma once

#include <span>

#include "orbit/base/embedded.hpp"

namespace orbit::spec {

std::span<const EmbeddedFile> embedded_templates();
std::span<const EmbeddedFile> embedded_task_types();

}  // namespace orbit::spec
