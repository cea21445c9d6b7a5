// Text for people: tables, colours, times, escaping. Pure: the terminal and the time are values.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orbit/base/time.hpp"
#include "orbit/domain/attempt_state.hpp"

namespace orbit::cli {

struct Terminal {
  bool out = false;  // stdout is one
  bool err = false;
  bool colour_out = false;  // a terminal, and NO_COLOR is not set
  bool colour_err = false;
  int width = 80;

  static Terminal detect();
};

enum class Colour { none, red, green, yellow, blue, cyan, dim, bold };
std::string paint(std::string_view text, Colour colour, bool enabled);
Colour colour_of(AttemptState state);

// What a terminal would obey instead of show (control characters, bidirectional overrides) as \n, \t, \x1b, \u{202e};
// invalid UTF-8 as U+FFFD.
std::string escape(std::string_view text);
// Columns a terminal needs: wide CJK and emoji count 2, combining marks 0.
std::size_t display_width(std::string_view text);
// The first `width` columns, with … at the end when something was left out.
std::string shorten(std::string_view text, std::size_t width);

std::string ago(WallTime then, WallTime now);  // "now", "12s ago", "3m ago", "5h ago", "2d ago"; "in 3m" for the future

struct Cell {
  std::string text;
  Colour colour = Colour::none;
};

class Table {
 public:
  struct Column {
    std::string header;
    bool right = false;
    bool shrinks = false;  // gives way when the table is wider than the terminal
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  // max_width 0: as wide as it gets.
  std::string text(std::size_t max_width, bool colour) const;
  void print(std::ostream& out, const Terminal& terminal) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "key: value" lines with the values aligned; empty values are left out.
class Fields {
 public:
  void add(std::string key, std::string value, Colour colour = Colour::none);
  std::string text(bool colour) const;

 private:
  struct Field {
    std::string key, value;
    Colour colour;
  };
  std::vector<Field> fields_;
};

}  // namespace orbit::cli
