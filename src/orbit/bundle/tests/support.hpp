// What the tests of this folder share.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "orbit/bundle/bundle.hpp"
#include "orbit/platform/files.hpp"

namespace orbit::bundle {

// A store of real files in a directory, that can be asked to give something else than it was given.
class DirectoryBlobs : public BlobStore {
 public:
  explicit DirectoryBlobs(fs::path directory) : directory_(std::move(directory)) { fs::create_directories(directory_); }
  bool has(const Digest& digest) override { return fs::exists(directory_ / digest.hex()); }
  Result<void> put(const Digest& digest, std::string_view bytes) override {
    return platform::write_file(directory_ / digest.hex(), bytes, 0600);
  }
  Result<void> put_file(const Digest& digest, const fs::path& file) override {
    return platform::copy_file(file, directory_ / digest.hex(), 0600);
  }
  Result<std::string> get(const Digest& digest, std::size_t limit_bytes) override {
    return platform::read_file(directory_ / digest.hex(), limit_bytes);
  }
  Result<fs::path> path(const Digest& digest) override {
    if (!has(digest)) return fail(ErrorCode::not_found, "no such blob", digest.hex());
    return directory_ / digest.hex();
  }

 private:
  fs::path directory_;
};

class TempTest : public ::testing::Test {
 protected:
  explicit TempTest(const fs::path& parent = fs::temp_directory_path())
      : temp_(platform::TempDirectory::make(parent, "orbit-bundle-").value()) {}
  ~TempTest() override { platform::set_fault_hook({}); }

  fs::path at(const std::string& name) const { return temp_.path() / name; }
  void put(const std::string& name, std::string_view bytes, mode_t mode = 0644) const {
    fs::create_directories(at(name).parent_path());
    std::ofstream(at(name), std::ios::binary) << bytes;
    ::chmod(at(name).c_str(), mode);
  }
  std::string get(const fs::path& path) const { return platform::read_file(path, 1U << 30).value_or("<unreadable>"); }
  static mode_t mode_of(const fs::path& path) {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
  }

  platform::TempDirectory temp_;
};

inline FileEntry entry_of(const std::string& path, std::string_view bytes, bool executable = false) {
  return FileEntry{path, executable, static_cast<std::int64_t>(bytes.size()), Sha256::of(bytes)};
}

inline JobSpec small_job() {
  JobSpec job;
  job.task = "training";
  job.code_entry = "train.py";
  job.environment.any = true;
  job.metrics_file = "metrics.jsonl";
  return job;
}

// For tests that sync hundreds of times: in memory where there is such a place.
inline fs::path fast_directory() {
  const fs::path memory = "/dev/shm";
  const auto free = platform::free_bytes(memory);
  return free && *free > (32 << 20) && ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
}

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "no error" : result.error().text();
}

}  // namespace orbit::bundle
