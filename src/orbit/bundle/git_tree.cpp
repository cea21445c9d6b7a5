#include "orbit/bundle/git_tree.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <set>

#include "orbit/base/text.hpp"
#include "orbit/bundle/paths.hpp"

namespace orbit::bundle {
namespace {

struct TreeFile {
  std::string path;
  std::string object;
  bool executable = false;
  bool link = false;
  std::int64_t size_bytes = 0;
};

Failure strange(std::string_view what) {
  return fail(ErrorCode::internal, fmt::format("git answered something unexpected: {}", printable(what)), "source");
}

// "<mode> SP <type> SP <object> SP+ <size> TAB <path>", each ended by NUL.
Result<TreeFile> parse_line(const std::string& line) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string::npos) return strange(line);
  std::vector<std::string> words;
  for (std::string& word : split(std::string_view(line).substr(0, tab), ' '))
    if (!word.empty()) words.push_back(std::move(word));
  if (words.size() != 4) return strange(line);
  TreeFile file;
  file.path = line.substr(tab + 1);
  if (words[1] != "blob") return file;  // a submodule: no object
  file.object = words[2];
  file.executable = words[0] == "100755";
  file.link = words[0] == "120000";
  const auto [end, error] = std::from_chars(words[3].data(), words[3].data() + words[3].size(), file.size_bytes);
  if (error != std::errc{} || end != words[3].data() + words[3].size() || file.size_bytes < 0) return strange(line);
  return file;
}

Result<std::vector<TreeFile>> list_tree(const Git& git, const GitCall& where, const std::string& tree,
                                        const Limits& limits) {
  GitCall call = where;
  call.arguments = {"ls-tree", "-r", "-z", "-l", "--full-tree", tree};
  ORBIT_TRY_ASSIGN(const std::string listing, git.run(call));
  std::vector<TreeFile> files;
  std::vector<std::string> submodules;
  std::int64_t total_bytes = 0;
  for (const std::string& line : split(listing, '\0')) {
    if (line.empty()) continue;
    ORBIT_TRY_ASSIGN(TreeFile file, parse_line(line));
    const std::string shown = printable(file.path);
    ORBIT_TRY(check_path("inputs/code/" + file.path, shown, limits));
    if (file.object.empty()) {
      submodules.push_back(shown);
      continue;
    }
    if (static_cast<std::int64_t>(files.size()) >= limits.max_files)
      return fail(ErrorCode::too_large, fmt::format("more than {} files", limits.max_files), shown,
                  "keep data outside of the code and name it as an input with an absolute path");
    if (file.size_bytes > limits.max_total_bytes - total_bytes)
      return fail(ErrorCode::too_large,
                  fmt::format("has {}; with it the total is more than {}", human_bytes(file.size_bytes),
                              human_bytes(limits.max_total_bytes)),
                  shown, "keep data outside of the code and name it as an input with an absolute path");
    if (file.link && file.size_bytes >= PATH_MAX)
      return fail(ErrorCode::invalid_argument, "is a symbolic link with an impossible target", shown);
    total_bytes += file.size_bytes;
    files.push_back(std::move(file));
  }
  if (!submodules.empty())
    return fail(ErrorCode::invalid_argument,
                fmt::format("the source has {} ({}), and git keeps their files elsewhere",
                            submodules.size() == 1 ? "a submodule" : "submodules", join(submodules, ", ")),
                "source", "copy the files into the repository, or install them as a package");
  return files;
}

// What `git cat-file --batch` says, through a buffer.
class BatchReader {
 public:
  explicit BatchReader(int fd) : fd_(fd), buffer_(256 * 1024, '\0') {}

  Result<std::string> line() {
    std::string out;
    for (;;) {
      ORBIT_TRY(fill());
      const std::string_view have(buffer_.data() + begin_, end_ - begin_);
      const std::size_t newline = have.find('\n');
      out.append(have.substr(0, newline));
      begin_ += newline == std::string_view::npos ? have.size() : newline + 1;
      if (newline != std::string_view::npos) return out;
      if (out.size() > 1000) return strange(out);
    }
  }

  template <class Sink>
  Result<void> bytes(std::int64_t count, Sink sink) {
    while (count > 0) {
      ORBIT_TRY(fill());
      const auto take =
          static_cast<std::size_t>(std::min<std::int64_t>(count, static_cast<std::int64_t>(end_ - begin_)));
      auto done = sink(std::string_view(buffer_.data() + begin_, take));
      if (!done) return done;
      begin_ += take;
      count -= static_cast<std::int64_t>(take);
    }
    return {};
  }

 private:
  Result<void> fill() {
    while (begin_ == end_) {
      const ssize_t got = ::read(fd_, buffer_.data(), buffer_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno(errno, "cannot read what git says", "source");
      if (got == 0) return fail(ErrorCode::io, "git ended before it had given all files", "source");
      begin_ = 0;
      end_ = static_cast<std::size_t>(got);
    }
    return {};
  }

  int fd_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

Result<void> write_blob(BatchReader& reader, const TreeFile& file, const fs::path& to) {
  platform::Fd out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) return fail_errno(errno, "cannot create the file", to.string());
  const auto sink = [&](std::string_view bytes) { return platform::write_all(out.get(), bytes); };
  if (auto done = reader.bytes(file.size_bytes, sink); !done) {
    if (done.error().field.empty()) done.error().field = to.string();
    return done;
  }
  if (::fchmod(out.get(), file.executable ? 0755 : 0644) != 0)
    return fail_errno(errno, "cannot set the mode", to.string());
  return {};
}

Result<void> write_tree(BatchReader& reader, const std::vector<TreeFile>& files, const fs::path& into) {
  std::vector<std::pair<fs::path, std::string>> links;
  std::set<std::string> directories;
  for (const TreeFile& file : files) {
    ORBIT_TRY_ASSIGN(const std::string header, reader.line());
    if (header != fmt::format("{} blob {}", file.object, file.size_bytes))
      return fail(ErrorCode::corrupt, fmt::format("git cannot give the content: {}", printable(header)),
                  printable(file.path), "git fsck says what is wrong with the repository");
    const fs::path to = into / file.path;
    if (file.link) {
      std::string target;
      const auto sink = [&](std::string_view bytes) {
        target += bytes;
        return Result<void>();
      };
      ORBIT_TRY(reader.bytes(file.size_bytes, sink));
      if (target.empty() || target.find('\0') != std::string::npos)
        return fail(ErrorCode::invalid_argument, "is a symbolic link with an impossible target", printable(file.path));
      links.emplace_back(to, std::move(target));
    } else {
      if (directories.insert(to.parent_path().string()).second) ORBIT_TRY(platform::make_directories(to.parent_path()));
      ORBIT_TRY(write_blob(reader, file, to));
    }
    const auto newline = [](std::string_view) { return Result<void>(); };
    ORBIT_TRY(reader.bytes(1, newline));
  }
  for (const auto& [path, target] : links) {
    if (directories.insert(path.parent_path().string()).second)
      ORBIT_TRY(platform::make_directories(path.parent_path()));
    if (::symlink(target.c_str(), path.c_str()) != 0)
      return fail_errno(errno, "cannot make the symbolic link", path.string());
  }
  return {};
}

}  // namespace

Result<void> extract_tree(const Git& git, const GitCall& where, const std::string& tree, const fs::path& into,
                          const Limits& limits) {
  ORBIT_TRY_ASSIGN(const std::vector<TreeFile> files, list_tree(git, where, tree, limits));
  if (files.empty()) return {};
  // The questions lie in a file, so that git never waits for us while we wait for it.
  const platform::Fd questions(::memfd_create("git-objects", MFD_CLOEXEC));
  if (!questions) return fail_errno(errno, "cannot make a file in memory");
  std::string text;
  for (const TreeFile& file : files) text += file.object + "\n";
  ORBIT_TRY(platform::write_all(questions.get(), text));
  if (::lseek(questions.get(), 0, SEEK_SET) != 0) return fail_errno(errno, "cannot rewind a file in memory");
  GitCall call = where;
  call.arguments = {"cat-file", "--batch"};
  call.stdin_fd = questions.get();
  call.read = [&](int fd) -> Result<std::string> {
    BatchReader reader(fd);
    ORBIT_TRY(write_tree(reader, files, into));
    return std::string();
  };
  ORBIT_TRY(git.run(call));
  return {};
}

}  // namespace orbit::bundle
