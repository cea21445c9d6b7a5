// Any bytes as a template, task type, run file and profile: an error with words, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orbit/spec/run_file.hpp"
#include "orbit/spec/task_type.hpp"
#include "orbit/spec/template.hpp"

namespace {

template <class T>
void check(const orbit::Result<T>& result) {
  ORBIT_ASSERT(result.has_value() || !result.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(orbit::spec::parse_template(text, "fuzz.yaml"));
  check(orbit::spec::parse_task_type(text, "fuzz.yaml"));
  check(orbit::spec::parse_run_file(text, "fuzz.yaml"));
  check(orbit::spec::parse_profile(text, "fuzz.yaml"));
  return 0;
}
