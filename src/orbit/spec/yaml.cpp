#include "orbit/spec/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include "orbit/spec/scalar.hpp"

namespace orbit::spec {
namespace {

constexpr std::size_t max_bytes = 1U << 20U;
constexpr std::size_t max_levels = 64;
constexpr std::size_t max_nodes = 100'000;

enum class Kind { null, plain, quoted, list, map };

struct Node {
  Kind kind = Kind::null;
  int line = 0;  // 1-based; of a map's value: the line of its key
  std::string text;
  std::vector<Node> members;  // of a map: in the file's order
  std::string key;            // of a map's member
};

// Thrown through yaml-cpp, which knows no other way to stop.
struct Refused {
  int line;
  std::string message;
  std::string hint;
};

// Builds our own tree from yaml-cpp's events: its own nodes resolve aliases, keep duplicate keys silently and forget
// where a key stood.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::string_view text) : text_(text) {}
  Node root;
  bool has_root = false;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(mark, Node{Kind::null, line(mark), "null", {}, {}});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark, 1); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    if (tag != "?" && tag != "!" && !tag.empty()) refuse_tag(mark, tag);
    if (tag == "!") check_closed(mark);
    add(mark, Node{tag == "!" ? Kind::quoted : Kind::plain, line(mark), value, {}, {}});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Kind::list);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Kind::map);
  }
  void OnMapEnd() override { open_.pop_back(); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchor(mark, 1); }

 private:
  struct Open {
    Node* node;
    bool key_read = false;  // a map whose last member waits for its value
    std::set<std::string> keys;
  };
  std::string_view text_;
  std::vector<Open> open_;
  std::size_t nodes_ = 0;

  static int line(const YAML::Mark& mark) { return mark.line + 1; }
  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0)
      throw Refused{line(mark), "anchors and aliases (&name, *name) are not allowed",
                    "write the value out where it is used"};
  }
  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    throw Refused{line(mark), fmt::format("tags such as '{}' are not allowed", to_valid_utf8(tag.substr(0, 60))),
                  "put a value in quotes to make it a string"};
  }

  // yaml-cpp 0.7 takes the end of the file for the closing quotation mark, and with it every key in between for text.
  void check_closed(const YAML::Mark& mark) const {
    if (mark.pos < 0 || static_cast<std::size_t>(mark.pos) >= text_.size()) return;
    std::string_view rest = text_.substr(static_cast<std::size_t>(mark.pos));
    const char quote = rest.front();
    if (quote != '\'' && quote != '"') return;  // a block scalar
    for (std::size_t i = 1; i < rest.size(); ++i) {
      if (quote == '"' && rest[i] == '\\')
        ++i;
      else if (rest[i] == quote && quote == '\'' && i + 1 < rest.size() && rest[i + 1] == quote)
        ++i;
      else if (rest[i] == quote)
        return;
    }
    throw Refused{line(mark), "a quotation mark is not closed", {}};
  }

  Node* add(const YAML::Mark& mark, Node node) {
    if (++nodes_ > max_nodes) throw Refused{line(mark), fmt::format("more than {} values", max_nodes), {}};
    if (open_.empty()) {
      root = std::move(node);
      has_root = true;
      return &root;
    }
    Open& parent = open_.back();
    if (parent.node->kind == Kind::list) {
      parent.node->members.push_back(std::move(node));
    } else if (parent.key_read) {
      parent.key_read = false;
      Node& waiting = parent.node->members.back();
      node.line = waiting.line;
      node.key = std::move(waiting.key);
      waiting = std::move(node);
    } else {
      if (node.kind == Kind::list || node.kind == Kind::map)
        throw Refused{line(mark), "a key must be a word, not a list or a map", {}};
      if (!parent.keys.insert(node.text).second)
        throw Refused{line(mark), fmt::format("the key '{}' stands here twice", to_valid_utf8(node.text.substr(0, 64))),
                      "leave one of them"};
      parent.key_read = true;
      Node waiting;
      waiting.line = node.line;
      waiting.key = std::move(node.text);
      parent.node->members.push_back(std::move(waiting));
    }
    return &parent.node->members.back();
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Kind kind) {
    refuse_anchor(mark, anchor);
    if (tag != "?" && !tag.empty()) refuse_tag(mark, tag);
    if (open_.size() == max_levels)
      throw Refused{line(mark), fmt::format("nested more than {} levels deep", max_levels), {}};
    Node* node = add(mark, Node{kind, line(mark), {}, {}, {}});
    open_.push_back(Open{node, false, {}});
  }
};

json::Value typed(const Node& node) {
  if (node.kind == Kind::plain) {
    if (const auto literal = plain_literal(node.text))
      if (auto parsed = json::parse(*literal)) return *parsed;
  }
  return json::Value(node.text);
}

json::Value as_json(const Node& node, bool text_scalars) {
  switch (node.kind) {
    case Kind::null:
      return nullptr;
    case Kind::plain:
      return text_scalars ? json::Value(node.text) : typed(node);
    case Kind::quoted:
      return json::Value(node.text);
    case Kind::list: {
      json::Array out;
      out.reserve(node.members.size());
      for (const Node& item : node.members) out.push_back(as_json(item, text_scalars));
      return out;
    }
    case Kind::map: {
      json::Object out;
      for (const Node& item : node.members) out[item.key] = as_json(item, text_scalars);
      return out;
    }
  }
  return nullptr;
}

// JSON text with numbers as written.
void write_source(const Node& node, std::string& out) {
  switch (node.kind) {
    case Kind::null:
      out += "null";
      return;
    case Kind::plain:
      if (const auto literal = plain_literal(node.text)) {
        out += *literal;
        return;
      }
      [[fallthrough]];
    case Kind::quoted:
      out += json_string(node.text);
      return;
    case Kind::list:
    case Kind::map: {
      out += node.kind == Kind::list ? '[' : '{';
      bool first = true;
      for (const Node& item : node.members) {
        if (!first) out += ',';
        first = false;
        if (node.kind == Kind::map) out += json_string(item.key) + ":";
        write_source(item, out);
      }
      out += node.kind == Kind::list ? ']' : '}';
      return;
    }
  }
}

// Keys may hold dots themselves (runtime_env.OMP_NUM_THREADS below overrides): every split of the path is tried.
const Node* find(const Node& node, std::string_view path) {
  if (path.empty()) return &node;
  if (path.front() == '[') {
    const std::size_t end = path.find(']');
    if (end == std::string_view::npos || node.kind != Kind::list) return nullptr;
    std::size_t index = 0;
    for (const char c : path.substr(1, end - 1)) {
      if (c < '0' || c > '9' || index > max_nodes) return nullptr;
      index = index * 10 + static_cast<std::size_t>(c - '0');
    }
    if (end == 1 || index >= node.members.size()) return nullptr;
    path.remove_prefix(end + 1);
    if (!path.empty() && path.front() == '.') path.remove_prefix(1);
    return find(node.members[index], path);
  }
  if (node.kind != Kind::map) return nullptr;
  for (const Node& item : node.members) {
    if (!path.starts_with(item.key)) continue;
    std::string_view rest = path.substr(item.key.size());
    if (!rest.empty() && rest.front() != '.' && rest.front() != '[') continue;
    if (!rest.empty() && rest.front() == '.') {
      rest.remove_prefix(1);
      if (rest.empty()) continue;
    }
    if (const Node* found = find(item, rest)) return found;
  }
  return nullptr;
}

int count_lines(std::string_view text) {
  return 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

struct YamlDocument::State {
  std::string file_name;
  Node root;
};

YamlDocument::YamlDocument(std::unique_ptr<State> state) : state_(std::move(state)) {}
YamlDocument::~YamlDocument() = default;
YamlDocument::YamlDocument(YamlDocument&&) noexcept = default;

Result<YamlDocument> YamlDocument::parse(std::string_view text, std::string file_name) {
  const auto refuse = [&](int line, std::string message, std::string hint = {}) {
    return fail(ErrorCode::invalid_argument, std::move(message),
                line > 0 ? fmt::format("{}:{}", file_name, line) : file_name, std::move(hint));
  };
  if (text.size() > max_bytes)
    return fail(ErrorCode::too_large,
                fmt::format("a YAML file may have {} bytes, this one has {}", max_bytes, text.size()), file_name);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (!is_valid_utf8(text)) {
    std::size_t line = 1;
    for (std::string_view rest = text; !rest.empty(); ++line) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      if (!is_valid_utf8(rest.substr(0, end))) break;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return refuse(static_cast<int>(line), "not valid UTF-8", "save the file as UTF-8");
  }
  for (std::size_t i = 0; i < text.size(); ++i)
    if (const auto c = static_cast<unsigned char>(text[i]);
        (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
      return refuse(count_lines(text.substr(0, i)), fmt::format("a control character (0x{:02x}) stands here", c),
                    "remove it");

  Builder builder(text);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) {
      Builder second(text);
      if (parser.HandleNextDocument(second))
        return refuse(second.root.line, "a second document begins here", "one file, one document: remove the '---'");
    }
  } catch (const Refused& refused) {
    return refuse(refused.line, refused.message, refused.hint);
  } catch (const YAML::Exception& error) {
    const bool anchor = error.msg == YAML::ErrorMsg::UNKNOWN_ANCHOR;
    return refuse(
        error.mark.is_null() ? 0 : error.mark.line + 1,
        anchor ? "anchors and aliases (&name, *name) are not allowed" : "not YAML: " + to_valid_utf8(error.msg),
        anchor ? "write the value out where it is used, or put it in quotes" : "");
  } catch (const std::exception& error) {
    return refuse(0, fmt::format("not YAML: {}", to_valid_utf8(error.what())));
  }
  if (!builder.has_root || builder.root.kind == Kind::null) return refuse(1, "the file says nothing");
  auto state = std::make_unique<State>();
  state->file_name = std::move(file_name);
  state->root = std::move(builder.root);
  return YamlDocument(std::move(state));
}

Result<YamlDocument> YamlDocument::load(const std::filesystem::path& file) {
  const std::string name = to_valid_utf8(file.string());
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) return fail(ErrorCode::not_found, "there is no such file", name);
  if (!std::filesystem::is_regular_file(status)) return fail(ErrorCode::invalid_argument, "not a regular file", name);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return fail_errno(errno, "cannot open", name);
  std::string text(max_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return fail(ErrorCode::io, "cannot be read", name);
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > max_bytes)
    return fail(ErrorCode::too_large, fmt::format("a YAML file may have {} bytes", max_bytes), name);
  return parse(text, name);
}

json::Value YamlDocument::to_json(bool text_scalars) const {
  return as_json(state_->root, text_scalars);
}

std::vector<std::pair<std::string, std::string>> YamlDocument::source_texts(const std::string& path) const {
  std::vector<std::pair<std::string, std::string>> out;
  const Node* node = find(state_->root, path);
  if (node == nullptr || node->kind != Kind::map) return out;
  for (const Node& item : node->members) {
    std::string text;
    if (item.kind == Kind::plain)
      text = plain_literal(item.text).value_or(item.text);
    else
      write_source(item, text);
    out.emplace_back(item.key, std::move(text));
  }
  return out;
}

int YamlDocument::line_of(const std::string& path) const {
  const Node* node = find(state_->root, path);
  return node == nullptr ? 0 : node->line;
}

const std::string& YamlDocument::file_name() const {
  return state_->file_name;
}

Error YamlDocument::locate(Error error) const {
  std::string path = error.field;
  int line = line_of(path);
  while (line == 0) {
    const std::size_t cut = path.find_last_of(".[");
    path = cut == std::string::npos ? "" : path.substr(0, cut);
    line = line_of(path);
  }
  const std::string place = fmt::format("{}:{}", state_->file_name, line);
  error.field = error.field.empty() ? place : place + ": " + error.field;
  return error;
}

}  // namespace orbit::spec
