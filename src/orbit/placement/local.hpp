// Placement `local`: the server's own machine. An attempt lives in <attempts root>/<attempt id>/ (layout:
// domain/bundle_spec.hpp), which stays after release(). Whatever the workload can write (artifacts/) is read without
// following links and within bounds.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "orbit/ports/blob_store.hpp"
#include "orbit/ports/clock.hpp"
#include "orbit/ports/placement.hpp"

namespace orbit::placement {

class LocalPlacement : public Placement {
 public:
  // `runner_program`: absolute path of the program started as `PROGRAM runner DIRECTORY`.
  LocalPlacement(std::filesystem::path attempts_root, BlobStore& blobs, std::string runner_program, Clock& clock);

  Result<std::string> provision(const AttemptId& attempt, const ExecutionRequest& request) override;
  Result<void> start(const std::string& handle, const StartRequest& request) override;
  Result<Observation> observe(const std::string& handle, std::int64_t after_journal_seq) override;
  Result<void> stop(const std::string& handle, const StopOrder& order) override;
  Result<std::string> read_log(const std::string& handle, Stream stream, std::int64_t offset,
                               std::size_t max_bytes) override;
  Result<std::string> read_artifact(const std::string& handle, const std::string& path, std::int64_t offset,
                                    std::size_t max_bytes) override;
  Result<ArtifactManifest> list_artifacts(const std::string& handle) override;
  Result<std::string> read_manifest(const std::string& handle) override;
  Result<std::map<std::string, std::string>> verify_artifacts(const std::string& handle,
                                                              const ArtifactManifest& manifest) override;
  Result<void> release(const std::string& handle) override;

 private:
  // A runner this process started and that may not have taken its lock yet.
  struct Spawned {
    ProcessIdentity process;
    MonoTime at;
  };

  Result<std::filesystem::path> directory_of(const std::string& handle) const;
  Result<void> bring_checkpoint(const std::filesystem::path& directory, const ResumeFrom& resume) const;
  Result<void> start_alone(const std::filesystem::path& directory, const StartRequest& request);
  // Ends what an attempt started and no runner can be told to end.
  Result<void> end_unsupervised(const std::string& name);
  Result<void> spawn_runner(const std::filesystem::path& directory);
  Result<void> make_obeyed(const std::filesystem::path& directory);
  // Where a stop waits that came before there was an order.
  std::filesystem::path early_stop(const std::filesystem::path& directory) const;
  Result<bool> runner_lives(const std::filesystem::path& directory);
  // What does not hold of one artifact; empty: it holds.
  Result<std::string> check_artifact(const std::filesystem::path& directory, const Artifact& wanted,
                                     const std::map<std::string, Artifact>& found) const;

  std::filesystem::path root_;
  BlobStore& blobs_;
  std::string runner_program_;
  Clock& clock_;
  std::mutex mutex_;  // guards what follows
  std::map<std::string, Spawned> spawned_;
  std::set<std::string> starting_;
};

}  // namespace orbit::placement
