// A bar on a terminal's stderr; nothing at all elsewhere.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace orbit::cli {

// "uploading  [######--------]  42 %  1.0 GiB of 2.4 GiB"; never wider than `width`.
std::string progress_line(std::string_view label, std::int64_t done, std::int64_t total, int width);

class Progress {
 public:
  Progress(std::ostream& err, bool enabled, int width, std::string label, std::int64_t total);
  ~Progress();  // wipes the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::int64_t done);  // draws at most ten times a second

 private:
  std::ostream& err_;
  bool enabled_;
  int width_;
  std::string label_;
  std::int64_t total_;
  std::int64_t drawn_at_ms_ = 0;
  bool drawn_ = false;
};

}  // namespace orbit::cli
