#include "orbit/cli/progress.hpp"

#include <algorithm>
#include <ostream>

#include "orbit/base/text.hpp"
#include "orbit/cli/render.hpp"
#include "orbit/platform/system.hpp"

namespace orbit::cli {

std::string progress_line(std::string_view label, std::int64_t done, std::int64_t total, int width) {
  const double part = total <= 0 ? 1.0 : std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const std::string tail =
      fmt::format("{:3.0f} %  {} of {}", part * 100, human_bytes(std::min(done, total)), human_bytes(total));
  const auto columns = static_cast<std::size_t>(std::max(width - 1, 10));  // the last column makes terminals wrap
  const std::size_t fixed = display_width(label) + 2 + 2 + 2 + tail.size();
  if (fixed + 8 > columns) return shorten(fmt::format("{}  {}", label, tail), columns);
  const std::size_t bar = std::min<std::size_t>(columns - fixed, 40);
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(bar));
  return fmt::format("{}  [{}{}]  {}", label, std::string(filled, '#'), std::string(bar - filled, '-'), tail);
}

Progress::Progress(std::ostream& err, bool enabled, int width, std::string label, std::int64_t total)
    : err_(err), enabled_(enabled), width_(width), label_(std::move(label)), total_(total) {}

Progress::~Progress() {
  if (drawn_) err_ << "\r\x1b[K" << std::flush;
}

void Progress::update(std::int64_t done) {
  if (!enabled_) return;
  const std::int64_t now_ms = platform::SystemClock().now().mono.ms;
  if (drawn_ && now_ms - drawn_at_ms_ < 100 && done < total_) return;
  drawn_at_ms_ = now_ms;
  drawn_ = true;
  err_ << '\r' << progress_line(label_, done, total_, width_) << "\x1b[K" << std::flush;
}

}  // namespace orbit::cli
