#include "orbit/store/dialect.hpp"

namespace orbit::store {

std::string replaced(std::string_view text, std::string_view mark, std::string_view by) {
  std::string out(text);
  for (std::size_t at = out.find(mark); at != std::string::npos; at = out.find(mark, at + by.size()))
    out.replace(at, mark.size(), by);
  return out;
}

}  // namespace orbit::store
