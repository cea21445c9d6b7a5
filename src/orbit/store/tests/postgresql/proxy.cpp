#include "orbit/store/tests/postgresql/proxy.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace orbit::store::testing {
namespace {

constexpr const char* socket_name = ".s.PGSQL.5432";
constexpr int look_ms = 50;

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.string().size() >= sizeof address.sun_path) throw std::runtime_error("the socket's path is too long");
  std::memcpy(address.sun_path, path.c_str(), path.string().size());
  return address;
}

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

Proxy::Proxy(const std::filesystem::path& server_sockets)
    : directory_(*platform::TempDirectory::make("/tmp", "orbit-pgx-")), server_(server_sockets / socket_name) {
  listener_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(directory_.path() / socket_name);
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_.get(), 16) != 0)
    throw std::runtime_error("the proxy cannot listen");
  acceptor_ = std::thread([this] { accept_all(); });
}

Proxy::~Proxy() {
  end_ = true;
  acceptor_.join();
}

void Proxy::accept_all() {
  std::vector<std::thread> carriers;
  while (!end_) {
    pollfd waiting{listener_.get(), POLLIN, 0};
    if (poll(&waiting, 1, look_ms) <= 0) continue;
    const int client = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    carriers.emplace_back([this, client] { carry(client); });
  }
  for (std::thread& carrier : carriers) carrier.join();
}

void Proxy::carry(int client_fd) {
  const platform::Fd client(client_fd);
  if (refuse_) return;
  const platform::Fd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(server_);
  if (connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
  bool swallow = false;
  std::array<char, 65536> buffer;
  while (!end_ && !refuse_) {
    std::array<pollfd, 2> both{pollfd{client.get(), POLLIN, 0}, pollfd{server.get(), POLLIN, 0}};
    if (poll(both.data(), both.size(), look_ms) <= 0) continue;
    for (const bool from_client : {true, false}) {
      if (both[from_client ? 0 : 1].revents == 0) continue;
      const ssize_t got = recv(from_client ? client.get() : server.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) return;
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
      if (from_client && bytes.find("COMMIT") != std::string_view::npos && lose_.exchange(false)) swallow = true;
      if (!from_client && swallow) {
        lost_ = true;
        return;
      }
      if (!send_all(from_client ? server.get() : client.get(), bytes)) return;
    }
  }
}

}  // namespace orbit::store::testing
