#include "orbit/bundle/source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include "orbit/base/text.hpp"
#include "orbit/bundle/git.hpp"
#include "orbit/bundle/git_tree.hpp"
#include "orbit/bundle/glob.hpp"
#include "orbit/bundle/paths.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::bundle {
namespace {

constexpr const char* code_folder = "inputs/code";
constexpr const char* patch_path = "inputs/patch.diff";
// What pins an environment, at the top of the code, by the names that its tools give it: always among the key files.
constexpr std::string_view lock_files[] = {"uv.lock",          "poetry.lock",      "pdm.lock",       "Pipfile.lock",
                                           "pixi.lock",        "pylock.toml",      "conda-lock.yml", "environment.yml",
                                           "requirements.txt", "requirements.lock"};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string without_newline(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// user@host:path
bool is_scp_like(std::string_view source) {
  const std::size_t at = source.find('@');
  const std::size_t colon = source.find(':');
  if (at == std::string_view::npos || colon == std::string_view::npos || at == 0 || colon <= at + 1 ||
      colon + 1 >= source.size())
    return false;
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  };
  const std::string_view user = source.substr(0, at);
  const std::string_view host = source.substr(at + 1, colon - at - 1);
  return std::all_of(user.begin(), user.end(), plain) && std::all_of(host.begin(), host.end(), plain) &&
         user[0] != '-' && host[0] != '-';
}

// True for a repository's URL, false for a folder; other URLs are errors.
Result<bool> is_url(const std::string& source) {
  if (source.empty())
    return fail(ErrorCode::invalid_argument, "is empty", "source", "a folder, or the URL of a git repository");
  if (!is_printable(source) || source.size() >= PATH_MAX)
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' holds characters that cannot be shown, or is too long", printable(source)), "source");
  if (is_scp_like(source)) return true;
  const std::size_t scheme_end = source.find("://");
  const std::size_t slash = source.find('/');
  if (scheme_end != std::string::npos && scheme_end < slash) {
    const std::string scheme = source.substr(0, scheme_end);
    const std::string_view rest = std::string_view(source).substr(scheme_end + 3);
    if (scheme != "https" && scheme != "ssh" && scheme != "file")
      return fail(ErrorCode::unsupported, fmt::format("repositories are not read by '{}'", scheme), "source",
                  "https://, ssh://, user@host:path or file://");
    const std::string_view authority = rest.substr(0, rest.find('/'));
    const std::size_t at = authority.rfind('@');
    const bool password = at != std::string_view::npos && authority.substr(0, at).find(':') != std::string_view::npos;
    // Over https the user alone may be a token.
    if (password || (at != std::string_view::npos && scheme == "https"))
      return fail(ErrorCode::invalid_argument,
                  "the URL holds a user or a password, which would be recorded with the run", "source",
                  "use an ssh URL, or ~/.netrc");
    if (starts_with(rest, "-")) return fail(ErrorCode::invalid_argument, "the URL has no host", "source");
    return true;
  }
  if (const std::size_t helper = source.find("::"); helper != std::string::npos && helper < slash)
    return fail(ErrorCode::unsupported, fmt::format("repositories are not read by '{}'", source.substr(0, helper)),
                "source", "https://, ssh://, user@host:path or file://");
  return false;
}

Result<void> check_revision(const std::string& revision) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._/@^~+-").find(c) != std::string_view::npos;
  };
  if (!revision.empty() && revision.size() <= 255 && revision[0] != '-' &&
      std::all_of(revision.begin(), revision.end(), allowed) && revision.find("..") == std::string::npos)
    return {};
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a revision", printable(revision)), "revision",
              "a commit, tag or branch");
}

// One attempt to read a source: knows git, the folder and a scratch directory.
class Reader {
 public:
  Reader(const SourceRequest& request, const Limits& limits) : request_(request), limits_(limits) {}

  Result<Source> read() {
    ORBIT_TRY_ASSIGN(const bool url, is_url(request_.source));
    if (request_.revision) ORBIT_TRY(check_revision(*request_.revision));
    source_.revision.source = request_.source;
    if (url) {
      ORBIT_TRY(read_url());
    } else {
      ORBIT_TRY(read_folder());
    }
    ORBIT_TRY(fingerprint_key_files());
    return std::move(source_);
  }

 private:
  GitCall call(std::vector<std::string> arguments) const {
    GitCall out;
    out.arguments = std::move(arguments);
    out.directory = where_.directory;
    out.environment = where_.environment;
    return out;
  }
  Result<std::string> git_line(std::vector<std::string> arguments) const {
    ORBIT_TRY_ASSIGN(std::string text, git_->run(call(std::move(arguments))));
    return without_newline(std::move(text));
  }
  // Empty when there is no such object.
  Result<std::string> object_of(const std::string& name) const {
    ORBIT_TRY_ASSIGN(GitAnswer answer, git_->ask(call({"rev-parse", "--verify", "--quiet", name})));
    return answer.exit_code == 0 ? without_newline(std::move(answer.out)) : std::string();
  }

  // The files stay after we return, until the caller removes request.work.
  Result<void> make_scratch() {
    if (request_.work.empty()) return fail(ErrorCode::invalid_argument, "no directory to work in", "work");
    ORBIT_TRY(platform::make_directories(request_.work, 0700));
    std::string name = (fs::absolute(request_.work) / "source-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return fail_errno(errno, "cannot make a directory", request_.work.string());
    scratch_ = name;
    return {};
  }

  Result<void> read_url() {
    ORBIT_TRY_ASSIGN(git_, Git::find());
    ORBIT_TRY(make_scratch());
    where_.directory = scratch_;
    std::vector<std::string> arguments{"clone", "--no-checkout", "--quiet", "--template=", "--no-recurse-submodules"};
    if (!request_.revision) arguments.insert(arguments.end(), {"--depth=1", "--single-branch"});
    arguments.insert(arguments.end(), {"--", request_.source, "clone"});
    ORBIT_TRY(git_->run(call(std::move(arguments))));
    where_.directory = scratch_ / "clone";
    ORBIT_TRY_ASSIGN(const std::string commit, find_commit());
    return freeze_commit(commit, "");
  }

  Result<std::string> find_commit() const {
    if (!request_.revision) {
      ORBIT_TRY_ASSIGN(std::string head, object_of("HEAD^{commit}"));
      if (head.empty()) return fail(ErrorCode::not_found, "the repository has no commit", "source");
      return head;
    }
    for (const std::string& name : {*request_.revision, "refs/remotes/origin/" + *request_.revision}) {
      ORBIT_TRY_ASSIGN(std::string commit, object_of(name + "^{commit}"));
      if (!commit.empty()) return commit;
    }
    return fail(
        ErrorCode::not_found, fmt::format("the repository has no commit, tag or branch '{}'", *request_.revision),
        "revision",
        "git log --all and git tag show what is there; a commit made elsewhere must be fetched or pushed first");
  }

  Result<void> read_folder() {
    struct stat status{};
    constexpr const char* what_it_is = "a folder on this machine, or the URL of a git repository";
    if (::stat(request_.source.c_str(), &status) != 0) {
      Failure failure =
          fail_errno(errno, fmt::format("cannot open the folder '{}'", printable(request_.source)), "source");
      failure.value().hint = what_it_is;
      return failure;
    }
    if (!S_ISDIR(status.st_mode))
      return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a folder", printable(request_.source)),
                  "source", what_it_is);
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(request_.source.c_str(), nullptr), std::free);
    if (!real) return fail_errno(errno, "cannot resolve the folder", "source");
    where_.directory = real.get();
    ORBIT_TRY_ASSIGN(const bool work_tree, is_work_tree());
    if (!work_tree) return read_plain();
    ORBIT_TRY_ASSIGN(std::string prefix, git_line({"rev-parse", "--show-prefix"}));
    if (!prefix.empty() && prefix.back() == '/') prefix.pop_back();
    if (request_.revision) {
      ORBIT_TRY_ASSIGN(const std::string commit, find_commit());
      return freeze_commit(commit, prefix);
    }
    return read_work_tree(prefix);
  }

  Result<bool> is_work_tree() {
    bool marked = false;
    for (fs::path at = where_.directory;; at = at.parent_path()) {
      struct stat status{};
      marked = ::lstat((at / ".git").c_str(), &status) == 0;
      if (marked || at == at.root_path()) break;
    }
    if (!marked) return false;
    ORBIT_TRY_ASSIGN(git_, Git::find());
    // A repository that git does not want to read must not be frozen as if it were a plain folder.
    const GitCall question = call({"rev-parse", "--is-inside-work-tree"});
    ORBIT_TRY_ASSIGN(const GitAnswer first, git_->ask(question));
    if (first.err.find("dubious ownership") != std::string::npos) ORBIT_TRY(git_->adopt_trust());
    ORBIT_TRY_ASSIGN(const std::string answer, git_line(question.arguments));
    return answer == "true";
  }

  Result<void> read_plain() {
    if (request_.revision)
      return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a git repository", printable(request_.source)),
                  "revision", "leave the revision out");
    ORBIT_TRY_ASSIGN(source_.files, scan(where_.directory, code_folder, limits_));
    return {};
  }

  Result<void> read_work_tree(const std::string& prefix) {
    ORBIT_TRY_ASSIGN(const std::string head, object_of("HEAD^{commit}"));
    ORBIT_TRY_ASSIGN(const std::vector<std::string> changes, uncommitted(prefix));
    if (changes.empty()) {
      std::string tree;
      if (!head.empty()) {
        ORBIT_TRY_ASSIGN(tree, tree_of(head, prefix));
      }
      // Nothing of the folder is tracked and nothing could be: empty, or ignored by the repository around it.
      if (tree.empty()) return read_plain();
      return freeze_commit(head, prefix);
    }
    if (!request_.allow_dirty) {
      constexpr std::size_t max_shown = 5;
      std::vector<std::string> shown(
          changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(std::min(max_shown, changes.size())));
      std::string list = join(shown, ", ");
      if (changes.size() > max_shown) list += fmt::format(" and {} more", changes.size() - max_shown);
      return fail(ErrorCode::invalid_argument, "has uncommitted changes: " + list, "source",
                  "commit them, or give --allow-dirty to freeze them together with the patch");
    }
    return freeze_dirty(head, prefix);
  }

  // "modified train.py", "untracked notes.txt", relative to the folder.
  Result<std::vector<std::string>> uncommitted(const std::string& prefix) const {
    ORBIT_TRY_ASSIGN(const std::string text,
                     git_->run(call({"status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all",
                                     "--ignore-submodules=all", "--", "."})));
    std::vector<std::string> out;
    for (const std::string& line : split(text, '\0')) {
      if (line.size() < 4) continue;
      std::string path = line.substr(3);
      if (!prefix.empty() && starts_with(path, prefix + "/")) path.erase(0, prefix.size() + 1);
      const std::string_view state(line.data(), 2);
      std::string_view word = "modified";
      if (state == "??")
        word = "untracked";
      else if (state.find('U') != std::string_view::npos || state == "AA" || state == "DD")
        word = "unmerged";
      else if (state.find('D') != std::string_view::npos)
        word = "deleted";
      else if (state.find('A') != std::string_view::npos)
        word = "added";
      out.push_back(fmt::format("{} {}", word, printable(path)));
    }
    return out;
  }

  // Of the folder in a commit or tree; empty when the folder is not there.
  Result<std::string> tree_of(const std::string& revision, const std::string& prefix) const {
    return object_of(prefix.empty() ? revision + "^{tree}" : revision + ":" + prefix);
  }

  Result<void> freeze_commit(const std::string& commit, const std::string& prefix) {
    ORBIT_TRY_ASSIGN(const std::string tree, tree_of(commit, prefix));
    if (tree.empty())
      return fail(ErrorCode::not_found, fmt::format("commit {} has no folder '{}'", commit, printable(prefix)),
                  "source");
    source_.revision.commit = commit;
    return freeze_tree(tree);
  }

  Result<void> freeze_tree(const std::string& tree) {
    if (scratch_.empty()) ORBIT_TRY(make_scratch());
    const fs::path into = scratch_ / "tree";
    ORBIT_TRY(platform::make_directories(into, 0755));
    ORBIT_TRY(extract_tree(*git_, where_, tree, into, limits_));
    ORBIT_TRY_ASSIGN(source_.files, scan(into, code_folder, limits_));
    return {};
  }

  // The folder as a commit would hold it, made with an index and objects of our own: the repository is not touched,
  // files and patch are of one moment.
  Result<void> freeze_dirty(const std::string& head, const std::string& prefix) {
    ORBIT_TRY(make_scratch());
    ORBIT_TRY(platform::make_directories(scratch_ / "objects", 0700));
    ORBIT_TRY_ASSIGN(const std::string objects, git_line({"rev-parse", "--git-path", "objects"}));
    std::string quoted = "\"";
    for (const char c : (where_.directory / objects).string()) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    where_.environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = quoted + "\"";
    where_.environment["GIT_OBJECT_DIRECTORY"] = (scratch_ / "objects").string();
    where_.environment["GIT_INDEX_FILE"] = (scratch_ / "index").string();

    std::string base = head.empty() ? "" : head + "^{tree}";
    if (head.empty()) {
      ORBIT_TRY_ASSIGN(base, git_line({"hash-object", "-w", "-t", "tree", "/dev/null"}));
    } else {
      source_.revision.commit = head;
    }
    ORBIT_TRY(git_->run(call({"read-tree", base})));
    ORBIT_TRY(git_->run(call({"add", "--all", "--", "."})));
    ORBIT_TRY_ASSIGN(const std::string whole, git_line({"write-tree"}));
    ORBIT_TRY_ASSIGN(const std::string tree, tree_of(whole, prefix));
    if (!tree.empty()) ORBIT_TRY(freeze_tree(tree));

    source_.revision.dirty = true;
    return add_patch(base, whole);
  }

  Result<void> add_patch(const std::string& base, const std::string& changed) {
    SourceFile patch;
    patch.from = scratch_ / "patch.diff";
    {
      const platform::Fd out(::open(patch.from.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!out) return fail_errno(errno, "cannot create the file", patch.from.string());
      GitCall diff = call({"diff-tree", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff",
                           "--no-textconv", "--no-color", "--diff-algorithm=myers", base, changed, "--", "."});
      diff.stdout_fd = out.get();
      ORBIT_TRY(git_->run(diff));
    }
    struct stat status{};
    if (::stat(patch.from.c_str(), &status) != 0)
      return fail_errno(errno, "cannot look at the patch", patch.from.string());
    std::int64_t total_bytes = status.st_size;
    for (const SourceFile& file : source_.files) total_bytes += file.entry.size_bytes;
    if (total_bytes > limits_.max_total_bytes || static_cast<std::int64_t>(source_.files.size()) >= limits_.max_files)
      return fail(ErrorCode::too_large,
                  fmt::format("with the patch ({}) the source is too large", human_bytes(status.st_size)), "source",
                  "commit the changes first");
    ORBIT_TRY_ASSIGN(patch.entry.sha256, platform::digest_of_file(patch.from));
    patch.entry.path = patch_path;
    patch.entry.size_bytes = status.st_size;
    source_.revision.patch = patch.entry.sha256;
    source_.files.push_back(std::move(patch));
    return {};
  }

  Result<void> fingerprint_key_files() {
    const std::string prefix = std::string(code_folder) + "/";
    std::vector<bool> met(request_.demanded_key_files.size());
    for (const SourceFile& file : source_.files) {
      if (!starts_with(file.entry.path, prefix)) continue;
      const std::string path = file.entry.path.substr(prefix.size());
      const auto matches = [&](std::string_view pattern) {
        while (starts_with(pattern, "./")) pattern.remove_prefix(2);
        return glob_matches(pattern, path);
      };
      bool wanted = std::any_of(request_.key_files.begin(), request_.key_files.end(), matches) ||
                    std::find(std::begin(lock_files), std::end(lock_files), path) != std::end(lock_files);
      for (std::size_t i = 0; i < met.size(); ++i) {
        if (!matches(request_.demanded_key_files[i].pattern)) continue;
        met[i] = true;
        wanted = true;
      }
      if (wanted) source_.revision.key_files[path] = file.entry.sha256;
    }
    const auto unmet = std::find(met.begin(), met.end(), false);
    if (unmet == met.end()) return {};
    const KeyPattern& pattern = request_.demanded_key_files[static_cast<std::size_t>(unmet - met.begin())];
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' matches no file of the code", printable(pattern.pattern)), pattern.field,
                "a file below the source, or a pattern such as conf/*.yaml or conf/**; of a repository only what git "
                "tracks is there");
  }

  const SourceRequest& request_;
  const Limits& limits_;
  std::optional<Git> git_;
  GitCall where_;  // directory and environment of every call
  fs::path scratch_;
  Source source_;
};

}  // namespace

Result<Source> read_source(const SourceRequest& request, const Limits& limits) {
  return Reader(request, limits).read();
}

}  // namespace orbit::bundle
