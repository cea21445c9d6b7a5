#include "orbit/cli/download.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/cli/progress.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::cli {

namespace fs = std::filesystem;

namespace {

Result<std::vector<Artifact>> list_all(Api& api, const RunRef& run, const std::string& attempt) {
  std::vector<Artifact> out;
  std::optional<std::string> cursor;
  do {
    ORBIT_TRY_ASSIGN(auto page, api.get_as<wire::ArtifactListObject>(run.target(
                                    {"attempts", attempt, "artifacts"}, {{"limit", "1000"}, {"cursor", cursor}})));
    std::move(page.items.begin(), page.items.end(), std::back_inserter(out));
    cursor = std::move(page.next_cursor);
  } while (cursor);
  return out;
}

bool is_below(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 && path[folder.size()] == '/';
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Result<std::vector<Artifact>> choose(std::vector<Artifact> all, const std::vector<std::string>& paths) {
  if (paths.empty()) return all;
  std::vector<Artifact> out;
  for (const std::string& given : paths) {
    const std::string path = without_slash(given);
    bool found = false;
    for (const Artifact& artifact : all) {
      if (artifact.path != path && !is_below(artifact.path, path)) continue;
      found = true;
      if (std::none_of(out.begin(), out.end(), [&](const Artifact& other) { return other.path == artifact.path; }))
        out.push_back(artifact);
    }
    if (found) continue;
    std::vector<std::string> known;
    for (const Artifact& artifact : all) known.push_back(artifact.path);
    const std::string close = nearest(path, known);
    return fail(ErrorCode::not_found, "there is no such artifact", to_valid_utf8(path),
                close.empty() ? "orbit run artifacts ls lists them" : "did you mean " + close + "?");
  }
  return out;
}

std::string target_of(const RunRef& run, const std::string& attempt, const std::string& path) {
  std::vector<std::string> segments{"attempts", attempt, "artifacts"};
  for (const std::string& part : split(path, '/')) segments.push_back(part);  // its slashes stay slashes
  return run.target(segments);
}

// Streams into `write`; the digest is compared where the list has one (a living attempt's has none).
Result<void> fetch(Api& api, const std::string& target, const Artifact& artifact,
                   const std::function<bool(std::string_view)>& write) {
  Sha256 sha;
  std::int64_t size = 0;
  bool written = true;
  const auto response = api.stream(target, {}, [&](std::string_view bytes) {
    sha.update(bytes);
    size += static_cast<std::int64_t>(bytes.size());
    written = write(bytes);
    return written;
  });
  if (!written) return fail(ErrorCode::io, "cannot be written", artifact.path);
  if (!response) return fail(response.error());
  if (artifact.sha256.empty()) return {};
  const Digest found = sha.finish();
  if (found != artifact.sha256)
    return fail(ErrorCode::corrupt,
                fmt::format("{} bytes with digest {} came, expected {} with {}", size, found.hex().substr(0, 12),
                            artifact.size_bytes, artifact.sha256.hex().substr(0, 12)),
                artifact.path, "see orbit run verify");
  return {};
}

// The folder of the file below `root`, made where missing; links in the way are refused.
Result<void> make_parents(const fs::path& root, const std::string& relative) {
  fs::path at = root;
  ORBIT_TRY(platform::make_directories(at));
  const fs::path parents = fs::path(relative).parent_path();
  for (const fs::path& part : parents) {
    at /= part;
    std::error_code error;
    const fs::file_status status = fs::symlink_status(at, error);
    if (fs::is_symlink(status))
      return fail(ErrorCode::refused, "is a link: nothing is written through it", at.string());
    if (!fs::is_directory(status)) ORBIT_TRY(platform::make_directories(at));
  }
  return {};
}

Result<void> fetch_to_file(Api& api, const std::string& target, const Artifact& artifact, const fs::path& root,
                           const std::function<void(std::int64_t)>& progress) {
  ORBIT_TRY(make_parents(root, artifact.path));
  const fs::path path = root / artifact.path;
  const fs::path partial = path.string() + ".orbit-partial";
  platform::Fd fd(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(errno, "open", partial.string());
  Result<void> written;
  std::int64_t size = 0;
  auto done = fetch(api, target, artifact, [&](std::string_view bytes) {
    written = platform::write_all(fd.get(), bytes);
    size += static_cast<std::int64_t>(bytes.size());
    progress(size);
    return written.has_value();
  });
  if (!written) done = written;
  // Set-id bits of something a run made are not brought onto this machine.
  if (done && ::fchmod(fd.get(), static_cast<mode_t>(artifact.mode) & 0777U) != 0)
    done = fail_errno(errno, "chmod", partial.string());
  if (done) done = platform::rename_path(partial, path);
  if (!done) ::unlink(partial.c_str());
  return done;
}

}  // namespace

Result<int> download_artifacts(Context& context, Api& api, const RunRef& run, const std::string& attempt,
                               const std::vector<std::string>& paths, const std::string& to) {
  ORBIT_TRY_ASSIGN(auto all, list_all(api, run, attempt));
  ORBIT_TRY_ASSIGN(const auto chosen, choose(std::move(all), paths));
  if (to == "-") {
    if (chosen.size() != 1 || chosen[0].kind != ArtifactKind::file)
      return fail(ErrorCode::invalid_argument, "is no single file", paths[0],
                  "name one file to write it to standard output");
    ORBIT_TRY(fetch(api, target_of(run, attempt, chosen[0].path), chosen[0], [&](std::string_view bytes) {
      context.out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      return context.out.good();
    }));
    context.out.flush();
    return 0;
  }
  std::int64_t total = 0;
  for (const Artifact& artifact : chosen) {
    ORBIT_TRY(bundle::check_path(artifact.path, "artifact"));  // the server is not believed about where to write
    total += artifact.size_bytes;
  }
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  {
    Progress progress(context.err, context.terminal.err, context.terminal.width, "fetching", total);
    for (const Artifact& artifact : chosen) {
      if (artifact.kind != ArtifactKind::file) continue;
      ORBIT_TRY(fetch_to_file(api, target_of(run, attempt, artifact.path), artifact, to,
                              [&](std::int64_t done) { progress.update(bytes + done); }));
      ++files;
      bytes += artifact.size_bytes;
    }
  }
  for (const Artifact& artifact : chosen)
    if (artifact.kind == ArtifactKind::symlink)
      context.note(fmt::format("{} is a link to {}: not made here", escape(artifact.path),
                               escape(artifact.target.value_or(""))));
  if (context.json())
    context.print_json(json::dump(json::Object{{"files", files}, {"size_bytes", bytes}, {"directory", to}}));
  else
    context.out << fmt::format("{}, {} in {}\n", counted(files, "file"), human_bytes(bytes), escape(to));
  return 0;
}

}  // namespace orbit::cli
