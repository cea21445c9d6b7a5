#include "orbit/cli/render.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "orbit/base/text.hpp"

namespace orbit::cli {
namespace {

// Decodes one code point of valid UTF-8 and removes it from the front.
char32_t take(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::size_t length = 1;
  char32_t point = lead;
  if (lead >= 0xf0) {
    length = 4;
    point = lead & 0x07U;
  } else if (lead >= 0xe0) {
    length = 3;
    point = lead & 0x0fU;
  } else if (lead >= 0xc0) {
    length = 2;
    point = lead & 0x1fU;
  }
  for (std::size_t i = 1; i < length; ++i) point = (point << 6U) | (byte(i) & 0x3fU);
  text.remove_prefix(length);
  return point;
}

bool in(char32_t point, char32_t first, char32_t last) {
  return point >= first && point <= last;
}

std::size_t columns_of(char32_t c) {
  if (in(c, 0x300, 0x36f) || in(c, 0x200b, 0x200d) || in(c, 0xfe00, 0xfe0f) || in(c, 0x20d0, 0x20ff)) return 0;
  if (in(c, 0x1100, 0x115f) || in(c, 0x2e80, 0x303e) || in(c, 0x3041, 0xa4cf) || in(c, 0xac00, 0xd7a3) ||
      in(c, 0xf900, 0xfaff) || in(c, 0xfe30, 0xfe6f) || in(c, 0xff00, 0xff60) || in(c, 0xffe0, 0xffe6) ||
      in(c, 0x1f300, 0x1f64f) || in(c, 0x1f900, 0x1f9ff) || in(c, 0x20000, 0x3fffd))
    return 2;
  return 1;
}

bool obeyed_by_terminals(char32_t c) {
  return c < 0x20 || in(c, 0x7f, 0x9f) || in(c, 0x200e, 0x200f) || in(c, 0x2028, 0x202e) || in(c, 0x2066, 0x2069) ||
         c == 0x61c || c == 0xfeff;
}

std::string_view code(Colour colour) {
  switch (colour) {
    case Colour::none:
      return "";
    case Colour::red:
      return "\x1b[31m";
    case Colour::green:
      return "\x1b[32m";
    case Colour::yellow:
      return "\x1b[33m";
    case Colour::blue:
      return "\x1b[34m";
    case Colour::cyan:
      return "\x1b[36m";
    case Colour::dim:
      return "\x1b[2m";
    case Colour::bold:
      return "\x1b[1m";
  }
  return "";
}

void pad(std::string& out, std::size_t count) {
  out.append(count, ' ');
}

}  // namespace

Terminal Terminal::detect() {
  Terminal terminal;
  terminal.out = ::isatty(STDOUT_FILENO) == 1;
  terminal.err = ::isatty(STDERR_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: set and not empty
  const char* term = std::getenv("TERM");
  const bool plain = (no_color != nullptr && *no_color != 0) || (term != nullptr && std::string_view(term) == "dumb");
  terminal.colour_out = terminal.out && !plain;
  terminal.colour_err = terminal.err && !plain;
  winsize size{};
  if ((terminal.out && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) ||
      (terminal.err && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0))
    terminal.width = size.ws_col;
  return terminal;
}

std::string paint(std::string_view text, Colour colour, bool enabled) {
  if (!enabled || colour == Colour::none || text.empty()) return std::string(text);
  return fmt::format("{}{}\x1b[0m", code(colour), text);
}

Colour colour_of(AttemptState state) {
  switch (state) {
    case AttemptState::submitted:
    case AttemptState::queued:
      return Colour::yellow;
    case AttemptState::provisioning:
    case AttemptState::starting:
    case AttemptState::running:
    case AttemptState::collecting:
      return Colour::blue;
    case AttemptState::succeeded:
      return Colour::green;
    case AttemptState::failed:
      return Colour::red;
    case AttemptState::terminated:
      return Colour::dim;
    case AttemptState::interrupted:
      return Colour::red;
  }
  return Colour::none;
}

std::string escape(std::string_view text) {
  const std::string valid = to_valid_utf8(text);
  std::string out;
  out.reserve(valid.size());
  for (std::string_view rest = valid; !rest.empty();) {
    const std::string_view before = rest;
    const char32_t c = take(rest);
    if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (c < 0x80 && obeyed_by_terminals(c))
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else if (obeyed_by_terminals(c))
      out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(c));
    else
      out.append(before.substr(0, before.size() - rest.size()));
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  const std::string valid = to_valid_utf8(text);
  std::size_t width = 0;
  for (std::string_view rest = valid; !rest.empty();) width += columns_of(take(rest));
  return width;
}

std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  const std::string valid = to_valid_utf8(text);
  std::string out;
  std::size_t used = 0;
  for (std::string_view rest = valid; !rest.empty();) {
    const std::string_view before = rest;
    const std::size_t columns = columns_of(take(rest));
    if (used + columns > width - 1) break;
    used += columns;
    out.append(before.substr(0, before.size() - rest.size()));
  }
  return out + "…";
}

std::string ago(WallTime then, WallTime now) {
  const std::int64_t difference_ms = now.ms - then.ms;
  const std::int64_t seconds = (difference_ms < 0 ? -difference_ms : difference_ms) / 1000;
  if (seconds < 1) return "now";
  std::string span;
  if (seconds < 60)
    span = fmt::format("{}s", seconds);
  else if (seconds < 3600)
    span = fmt::format("{}m", seconds / 60);
  else if (seconds < 86'400)
    span = fmt::format("{}h", seconds / 3600);
  else
    span = fmt::format("{}d", seconds / 86'400);
  return difference_ms < 0 ? "in " + span : span + " ago";
}

void Table::add(std::vector<Cell> row) {
  ORBIT_ASSERT(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = escape(cell.text);
  rows_.push_back(std::move(row));
}

std::string Table::text(std::size_t max_width, bool colour) const {
  constexpr std::size_t gap = 2;
  constexpr std::size_t narrowest = 8;  // what a shrinking column keeps
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].header);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i].text));
    widths.push_back(width);
  }
  const auto total = [&] {
    std::size_t sum = widths.empty() ? 0 : gap * (widths.size() - 1);
    for (const std::size_t width : widths) sum += width;
    return sum;
  };
  while (max_width != 0 && total() > max_width) {  // the widest of those that may give way, column by column
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (columns_[i].shrinks && widths[i] > narrowest && (widest == widths.size() || widths[i] > widths[widest]))
        widest = i;
    if (widest == widths.size()) break;
    --widths[widest];
  }
  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Cell cell = cell_of(i);
      const std::string shown = shorten(cell.text, widths[i]);
      const std::size_t missing = widths[i] - std::min(widths[i], display_width(shown));
      if (columns_[i].right) pad(text, missing);
      text += paint(shown, cell.colour, colour);
      if (!columns_[i].right && i + 1 < columns_.size()) pad(text, missing);
      if (i + 1 < columns_.size()) pad(text, gap);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += text + "\n";
  };
  line([&](std::size_t i) { return Cell{columns_[i].header, Colour::bold}; });
  for (const auto& row : rows_) line([&](std::size_t i) { return row[i]; });
  return out;
}

void Table::print(std::ostream& out, const Terminal& terminal) const {
  out << text(terminal.out ? static_cast<std::size_t>(terminal.width) : 0, terminal.colour_out);
}

void Fields::add(std::string key, std::string value, Colour colour) {
  if (!value.empty()) fields_.push_back({std::move(key), escape(value), colour});
}

std::string Fields::text(bool colour) const {
  std::size_t width = 0;
  for (const Field& field : fields_) width = std::max(width, display_width(field.key));
  std::string out;
  for (const Field& field : fields_) {
    out += paint(field.key + ":", Colour::dim, colour);
    pad(out, width - display_width(field.key) + 1);
    out += paint(field.value, field.colour, colour) + "\n";
  }
  return out;
}

}  // namespace orbit::cli
