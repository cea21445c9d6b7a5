// Stands between a client and the database, and can lose an answer.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "orbit/platform/files.hpp"

namespace orbit::store::testing {

class Proxy {
 public:
  explicit Proxy(const std::filesystem::path& server_sockets);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::filesystem::path sockets() const { return directory_.path(); }
  // The next COMMIT goes through, its answer is lost, and so is the connection.
  void lose_answer_of_next_commit() { lose_ = true; }
  // From now on nobody gets through.
  void refuse(bool refuse) { refuse_ = refuse; }
  bool lost_one() const { return lost_; }

 private:
  void accept_all();
  void carry(int client);

  platform::TempDirectory directory_;
  std::filesystem::path server_;
  platform::Fd listener_;
  std::atomic<bool> lose_{false};
  std::atomic<bool> lost_{false};
  std::atomic<bool> refuse_{false};
  std::atomic<bool> end_{false};
  std::thread acceptor_;
};

}  // namespace orbit::store::testing
