#include "orbit/domain/version.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "orbit/base/text.hpp"

namespace orbit {
namespace {

constexpr std::size_t max_text_bytes = 200;
constexpr std::size_t max_numbers = 16;

struct CodeName {
  std::string_view code_name;
  std::string_view distribution;
  std::int64_t major;
  std::int64_t minor;  // -1: the distribution counts in one number
};
constexpr std::array code_names{
    CodeName{"buster", "debian", 10, -1},   CodeName{"bullseye", "debian", 11, -1},
    CodeName{"bookworm", "debian", 12, -1}, CodeName{"trixie", "debian", 13, -1},
    CodeName{"xenial", "ubuntu", 16, 4},    CodeName{"bionic", "ubuntu", 18, 4},
    CodeName{"focal", "ubuntu", 20, 4},     CodeName{"jammy", "ubuntu", 22, 4},
    CodeName{"noble", "ubuntu", 24, 4},
};

// Names that may stand without a number: "os: debian".
constexpr std::array<std::string_view, 14> distributions{"almalinux", "alpine", "amzn",     "arch", "centos",
                                                         "debian",    "fedora", "opensuse", "ol",   "rhel",
                                                         "rocky",     "sles",   "ubuntu",   "macos"};

// Words in front of a number that say what is counted, not who made it.
constexpr std::array<std::string_view, 16> not_names{"cu",     "cuda",    "v",         "ver", "version", "release",
                                                     "python", "cpython", "py",        "cp",  "driver",  "nvidia",
                                                     "linux",  "gnu",     "gnu/linux", "r"};

template <class Range>
bool contains(const Range& range, std::string_view word) {
  return std::find(range.begin(), range.end(), word) != range.end();
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_space(char c) {
  return c == ' ' || c == '\t';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return out;
}

Failure not_a_version(std::string_view text) {
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a version", to_valid_utf8(text.substr(0, 60))), {},
              "write numbers separated by dots, as 3.10, 12.1 or ubuntu22.04");
}

// The words in front of the first number; letters, '-', '_', '/' and spaces, nothing else. Empty optional: something
// else stands there.
struct Prefix {
  std::string name;
  std::string counted;  // the last of the words that are not names: "cuda", "py" …
};
std::optional<Prefix> read_prefix(std::string_view text) {
  Prefix out;
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    if (contains(not_names, word))
      out.counted = word;
    else
      out.name += out.name.empty() ? word : "-" + word;
    word.clear();
  };
  for (const char c : text) {
    if (is_letter(c) || c == '/')
      word += c;
    else if (is_space(c) || c == '-' || c == '_')
      end_word();
    else
      return std::nullopt;
  }
  end_word();
  if (!text.empty() && out.name.empty() && out.counted.empty()) return std::nullopt;  // "-1"
  // "Rocky Linux", "Red Hat Enterprise Linux", "Amazon Linux": as /etc/os-release's ID has them.
  if (out.name == "red-hat-enterprise") out.name = "rhel";
  if (out.name == "amazon") out.name = "amzn";
  return out;
}

// What may follow the numbers: nothing; a local part; a pre-release, post-release or Debian revision; "LTS"; something
// in parentheses.
bool read_suffix(std::string_view rest, std::string& local) {
  if (rest.empty()) return true;
  const char first = rest.front();
  if (first == '+') {
    local = rest.substr(1);
    return !local.empty() && std::all_of(local.begin(), local.end(), [](char c) {
      return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '_';
    });
  }
  if (is_space(first)) {
    const std::string_view words = trim(rest);
    return words == "lts" || words.starts_with("lts (") || (words.front() == '(' && words.back() == ')');
  }
  if (!is_letter(first) && first != '-' && first != '~' && first != '.' && first != '_') return false;
  const std::size_t plus = rest.find('+');
  const std::string_view tag = rest.substr(0, plus);
  if (!is_letter(first) && (tag.size() < 2 || !(is_letter(tag[1]) || (is_digit(tag[1]) && first != '.')))) return false;
  if (!std::all_of(tag.begin(), tag.end(),
                   [](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '~' || c == '_'; }))
    return false;
  // A Debian revision ("-1+b1") has no local part; a pre-release ("rc1+cu118") may.
  if (plus == std::string_view::npos || first == '-') return true;
  return read_suffix(rest.substr(plus), local);
}

// Digits run together by habit: cu121 is 12.1, cu92 is 9.2, cu12 is 12; py310 is 3.10, cp39 is 3.9.
void spread(std::vector<std::int64_t>& numbers, std::string_view counted) {
  if (numbers.size() != 1) return;
  const std::int64_t joined = numbers[0];
  if (counted == "cu" || counted == "cuda") {
    if ((joined >= 100 && joined <= 999) || (joined >= 70 && joined <= 99)) numbers = {joined / 10, joined % 10};
  } else if (counted == "py" || counted == "cp" || counted == "python") {
    if (joined >= 300 && joined <= 399) numbers = {3, joined % 100};
    if (joined >= 20 && joined <= 39) numbers = {joined / 10, joined % 10};
  }
}

enum class Op { bare, equal, not_equal, at_least, more, at_most, less, compatible };

struct Clause {
  Op op = Op::bare;
  Version version;
  bool wildcard = false;  // ".*" or ".x" stood at the end
};

Result<Clause> parse_clause(std::string_view text) {
  struct Spelling {
    std::string_view text;
    Op op;
  };
  constexpr std::array spellings{Spelling{"==", Op::equal},      Spelling{"!=", Op::not_equal},
                                 Spelling{">=", Op::at_least},   Spelling{"<=", Op::at_most},
                                 Spelling{"~=", Op::compatible}, Spelling{">", Op::more},
                                 Spelling{"<", Op::less}};
  Clause out;
  const std::string_view whole = trim(text);
  std::string_view rest = whole;
  for (const Spelling& spelling : spellings) {
    if (!rest.starts_with(spelling.text)) continue;
    out.op = spelling.op;
    rest.remove_prefix(spelling.text.size());
    break;
  }
  rest = trim(rest);
  if (rest.empty())
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' names no version", to_valid_utf8(whole.substr(0, 60))),
                {}, "write a version, a range such as '>=12.1,<13', or 'any'");
  if (rest.front() == '=')
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a comparison", to_valid_utf8(whole.substr(0, 60))), {},
                "one of ==, !=, >=, >, <=, <, ~=, or the version alone");
  for (const std::string_view wildcard : {".*", ".x", ".X"})
    if (rest.size() > 2 && rest.ends_with(wildcard)) {
      out.wildcard = true;
      rest.remove_suffix(2);
      break;
    }
  ORBIT_TRY_ASSIGN(out.version, parse_version(rest));
  if (out.version.numbers.empty() && out.op != Op::bare && out.op != Op::not_equal)
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' compares with a name", to_valid_utf8(whole.substr(0, 60))), {},
                "write a number after the name, or the name alone");
  if (out.wildcard &&
      (out.version.numbers.empty() || (out.op != Op::bare && out.op != Op::equal && out.op != Op::not_equal)))
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' has no meaning here", to_valid_utf8(whole.substr(0, 60))), {},
                "'.*' may end a version alone, or one after == or !=");
  if (out.op == Op::compatible && out.version.numbers.size() < 2)
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' needs two numbers", to_valid_utf8(whole.substr(0, 60))),
                {}, "write ~=2.1, or >=2,<3");
  return out;
}

// An empty list is "any".
Result<std::vector<Clause>> parse_range(std::string_view wanted) {
  const std::string_view trimmed = trim(wanted);
  if (trimmed.size() > max_text_bytes) return not_a_version(trimmed);
  if (trimmed == "any" || trimmed == "*") return std::vector<Clause>{};
  std::vector<Clause> out;
  for (const std::string& part : split(trimmed, ',')) {
    if (trim(part) == "any" || trim(part) == "*")
      return fail(ErrorCode::invalid_argument, "'any' stands beside other demands", {},
                  "write 'any' alone, or leave it out");
    ORBIT_TRY_ASSIGN(Clause clause, parse_clause(part));
    out.push_back(std::move(clause));
  }
  return out;
}

std::strong_ordering compare_first(const Version& a, const Version& b, std::size_t count) {
  const auto number = [](const Version& version, std::size_t i) {
    return i < version.numbers.size() ? version.numbers[i] : 0;
  };
  for (std::size_t i = 0; i < count; ++i)
    if (const auto order = number(a, i) <=> number(b, i); order != 0) return order;
  return std::strong_ordering::equal;
}

bool matches(const Clause& clause, const Version& found) {
  const Version& wanted = clause.version;
  const bool other_name =
      !wanted.name.empty() && wanted.name != found.name && (!found.name.empty() || wanted.numbers.empty());
  if (clause.op == Op::not_equal && other_name) return true;
  if (other_name) return false;
  const bool same_local = wanted.local.empty() || found.local.empty() || wanted.local == found.local;
  const auto order = compare(found, wanted);
  const std::size_t count = wanted.numbers.size();
  switch (clause.op) {
    case Op::bare: {
      const std::size_t significant = clause.wildcard ? count : std::min<std::size_t>(count, 2);
      return compare_first(found, wanted, significant) == 0 && same_local;
    }
    case Op::equal:
      return (clause.wildcard ? compare_first(found, wanted, count) == 0 : order == 0) && same_local;
    case Op::not_equal:
      if (count == 0) return false;  // the name is the same
      return !((clause.wildcard ? compare_first(found, wanted, count) == 0 : order == 0) && same_local);
    case Op::at_least:
      return order >= 0;
    case Op::more:
      return order > 0;
    case Op::at_most:
      return order <= 0;
    case Op::less:
      return order < 0;
    case Op::compatible:
      return order >= 0 && compare_first(found, wanted, count - 1) == 0;
  }
  return false;
}

}  // namespace

Result<Version> parse_version(std::string_view text) {
  const std::string_view trimmed = trim(text);
  if (trimmed.empty() || trimmed.size() > max_text_bytes) return not_a_version(trimmed);
  Version out;
  out.text = trimmed;
  const std::string folded = lower(trimmed);
  std::string_view rest = folded;

  const auto first_digit = static_cast<std::size_t>(std::find_if(rest.begin(), rest.end(), is_digit) - rest.begin());
  const auto prefix = read_prefix(rest.substr(0, first_digit));
  if (!prefix) return not_a_version(trimmed);
  out.name = prefix->name;
  rest.remove_prefix(first_digit);

  if (rest.empty()) {
    // No number at all: a distribution, a code name, or both ("debian bookworm").
    for (const CodeName& known : code_names) {
      const std::string both = std::string(known.distribution) + "-" + std::string(known.code_name);
      if (out.name != known.code_name && out.name != both) continue;
      out.name = known.distribution;
      out.numbers = {known.major};
      if (known.minor >= 0) out.numbers.push_back(known.minor);
      return out;
    }
    if (!contains(distributions, out.name)) return not_a_version(trimmed);
    return out;
  }

  // The epoch of a Debian or Python version ("1:2.3", "1!2.3") only orders packaging schemes.
  if (const std::size_t end = rest.find_first_not_of("0123456789"); end != std::string_view::npos &&
                                                                    (rest[end] == ':' || rest[end] == '!') &&
                                                                    end + 1 < rest.size() && is_digit(rest[end + 1]))
    rest.remove_prefix(end + 1);

  const bool cuda = prefix->counted == "cu" || prefix->counted == "cuda";
  while (true) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{} || out.numbers.size() == max_numbers) return not_a_version(trimmed);
    out.numbers.push_back(number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    // "cuda-12-1" and "cuda_12_1" are names of packages and modules.
    const bool separated = !rest.empty() && (rest[0] == '.' || (cuda && (rest[0] == '-' || rest[0] == '_')));
    if (!separated || rest.size() < 2 || !is_digit(rest[1])) break;
    rest.remove_prefix(1);
  }
  for (const std::string_view wildcard : {".*", ".x"})
    if (rest == wildcard) rest = {};
  if (!read_suffix(rest, out.local)) return not_a_version(trimmed);
  spread(out.numbers, prefix->counted);
  return out;
}

std::strong_ordering compare(const Version& a, const Version& b) {
  return compare_first(a, b, std::max(a.numbers.size(), b.numbers.size()));
}

Result<bool> version_matches(std::string_view wanted, std::string_view found) {
  ORBIT_TRY_ASSIGN(const std::vector<Clause> clauses, parse_range(wanted));
  if (clauses.empty()) return true;
  ORBIT_TRY_ASSIGN(const Version version, parse_version(found));
  return std::all_of(clauses.begin(), clauses.end(), [&](const Clause& clause) { return matches(clause, version); });
}

Result<void> check_version_range(std::string_view wanted) {
  ORBIT_TRY(parse_range(wanted));
  return {};
}

}  // namespace orbit
