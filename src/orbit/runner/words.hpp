#pragma once

#include <string>

#include "orbit/domain/runtime_files.hpp"

namespace orbit::runner {

// A journal record as a line of the execution log.
std::string in_words(const JournalRecord& record);

}  // namespace orbit::runner
