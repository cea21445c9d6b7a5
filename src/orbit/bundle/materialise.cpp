#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <set>

#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/bundle/digests.hpp"
#include "orbit/bundle/paths.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::bundle {
namespace {

// There from the first moment until the bundle is whole: tells an earlier try of ours, which may be cleared, from a
// directory of somebody else. Holds the digest.
constexpr const char* half_made = ".orbit-half-made";
constexpr std::string_view temp_prefix = ".orbit-tmp-";
// Up to here blobs are read through get(): a store may keep small ones without a file.
constexpr std::int64_t small_bytes = 64 * 1024;
// Beyond this many files one sync of the whole file system is cheaper than one of each.
constexpr std::size_t sync_each_up_to = 256;

Result<std::vector<std::string>> names_in(const fs::path& directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) return fail_errno(errno, "cannot open the directory", directory.string());
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return fail_errno(errno, "cannot read the directory", directory.string());
  return names;
}

bool is_there(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

// True when the whole bundle is there already. Otherwise the directory is empty but for the mark.
Result<bool> prepare(const Digest& bundle, const fs::path& directory) {
  ORBIT_TRY(platform::make_directories(directory, 0755));
  if (is_there(directory / "bundle.json")) {
    ORBIT_TRY_ASSIGN(const std::string text, platform::read_file(directory / "bundle.json", max_manifest_bytes));
    if (const Digest found = Sha256::of(text); found != bundle)
      return fail(ErrorCode::conflict, fmt::format("holds another bundle, {}, not {}", found.hex(), bundle.hex()),
                  directory.string());
    return true;
  }
  ORBIT_TRY_ASSIGN(const std::vector<std::string> names, names_in(directory));
  const bool ours = is_there(directory / half_made);
  if (ours) {
    ORBIT_TRY_ASSIGN(const std::string digest, platform::read_file(directory / half_made, 100));
    if (digest != bundle.hex())
      return fail(ErrorCode::conflict, "holds the beginning of another bundle, " + printable(digest),
                  directory.string());
  }
  for (const std::string& name : names) {
    if (name == half_made) continue;
    if (!ours && name.compare(0, temp_prefix.size(), temp_prefix) != 0)
      return fail(ErrorCode::conflict, fmt::format("is not empty: '{}' is there", printable(name)), directory.string(),
                  "name a directory that does not exist yet");
    ORBIT_TRY(platform::remove_tree(directory / name));
  }
  if (!ours) ORBIT_TRY(platform::write_file_durably(directory / half_made, bundle.hex(), 0644));
  return false;
}

Result<void> put_file(const FileEntry& entry, BlobStore& blobs, const fs::path& to) {
  const mode_t mode = entry.executable ? 0755 : 0644;
  if (entry.size_bytes <= small_bytes) {
    ORBIT_TRY_ASSIGN(const std::string bytes, blobs.get(entry.sha256, static_cast<std::size_t>(small_bytes)));
    return platform::write_file(to, bytes, mode);
  }
  ORBIT_TRY_ASSIGN(const fs::path blob, blobs.path(entry.sha256));
  return platform::copy_file(blob, to, mode);
}

// What was written is what is digested: neither the store nor the copying is believed.
Result<void> check_copy(const FileEntry& entry, const fs::path& directory) {
  ORBIT_TRY_ASSIGN(const platform::Fd fd, platform::open_beneath(directory, entry.path));
  ORBIT_TRY_ASSIGN(const Measured found, measure(fd.get(), entry.path));
  if (found.size_bytes != entry.size_bytes || found.sha256 != entry.sha256)
    return fail(ErrorCode::corrupt,
                fmt::format("the stored content does not match: digest {}, expected {}", found.sha256.hex(),
                            entry.sha256.hex()),
                entry.path);
  return {};
}

Result<void> sync_all(const std::vector<FileEntry>& files, const std::set<fs::path>& directories,
                      const fs::path& directory) {
  if (files.size() > sync_each_up_to) return platform::sync_file_system(directory);
  for (const FileEntry& file : files) ORBIT_TRY(platform::sync_file(directory / file.path));
  for (const fs::path& each : directories) ORBIT_TRY(platform::sync_directory(each));
  return {};
}

}  // namespace

Result<void> materialise(const Digest& bundle, BlobStore& blobs, const fs::path& directory) {
  ORBIT_TRY_ASSIGN(const std::string text, blobs.get(bundle, max_manifest_bytes));
  if (Sha256::of(text) != bundle)
    return fail(ErrorCode::corrupt, "the stored manifest does not match the bundle's digest", "bundle.json");
  ORBIT_TRY_ASSIGN(const BundleManifest manifest, parse_manifest(text));
  ORBIT_TRY_ASSIGN(const bool whole, prepare(bundle, directory));
  if (!whole) {
    std::set<fs::path> directories{directory, directory / "inputs/code", directory / "runtime",
                                   directory / "artifacts"};
    for (const FileEntry& file : manifest.files)
      for (fs::path parent = fs::path(file.path).parent_path(); !parent.empty(); parent = parent.parent_path())
        if (!directories.insert(directory / parent).second) break;
    directories.insert(directory / "inputs");
    for (const fs::path& each : directories) ORBIT_TRY(platform::make_directories(each, 0755));
    for (const FileEntry& file : manifest.files) {
      if (auto done = put_file(file, blobs, directory / file.path); !done) {
        done.error().message = fmt::format("{}: {}", file.path, done.error().message);
        return done;
      }
    }
    ORBIT_TRY(for_each_of(manifest.files.size(),
                          [&](std::size_t index) { return check_copy(manifest.files[index], directory); }));
    ORBIT_TRY(sync_all(manifest.files, directories, directory));
    // The last thing, so that its presence says that all the rest is there.
    ORBIT_TRY(platform::write_file_durably(directory / "bundle.json", text, 0644));
  }
  if (is_there(directory / half_made)) ORBIT_TRY(platform::remove_tree(directory / half_made));
  return {};
}

}  // namespace orbit::bundle
