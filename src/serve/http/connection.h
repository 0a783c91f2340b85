// One connection: requests are read and replies are written, one after another. All of it runs on the loop's
// thread, except the handlers, which run on the workers.
#pragma once

#include "serve/http/hub.h"
#include "serve/http/wire.h"

#include <boost/asio/coroutine.hpp>
#include <boost/asio/steady_timer.hpp>

namespace attend::serve {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Hub& hub, std::unique_ptr<Wire> wire, std::string client);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() { go(); }
  // Answers the first request with this reply and ignores all later ones.
  void refuse_all(HttpReply reply);
  // Aborts the request in flight if Hub::out_of_time is set.
  void check_time() { resume(Event::work); }

 private:
  enum class Event { none, begin, input, output, work };

  void go();                 // continues from where it waits
  void resume(Event event);  // if it waits for this event
  void wait(Event event) { awaited_ = event; }
  void limit(double seconds);  // for the next wait; when the time is over, the connection ends
  void no_limit();
  void end_now();

  // Reading: the bytes that are fed to the reader, and whether more are needed.
  void read();
  void start_read(std::size_t size);
  void feed();
  void begin_request();
  bool needs_head();
  bool needs_body();
  void check_head();
  bool expects_word() const;
  void hold_body();

  // Processing.
  void dispatch();
  void take(HttpReply reply);
  bool is_working();
  void listen_to(const std::shared_ptr<Pipe>& pipe);
  void refuse_with(int status, const std::string& message);

  // Writing.
  void begin_reply();
  bool has_output();
  void put_next_of_stream();
  void write();
  void write_word(const char* word);
  void end_request();
  bool lingers();

  Hub& hub_;
  const std::unique_ptr<Wire> wire_;
  const std::string client_;
  boost::asio::coroutine place_;
  boost::asio::steady_timer deadline_;
  Event awaited_ = Event::none;
  std::atomic<bool> is_open_ = true;  // false: it is being closed
  bool keeps_alive_ = true;           // after this reply
  bool input_over_ = false;           // the client sends no more: it has disconnected
  bool reading_ = false;              // a read is in flight
  std::string buffer_, in_;           // buffer of that read; bytes that are not parsed yet
  RequestReader reader_;
  std::optional<HttpReply> refusal_;  // from refuse_all

  // The current request.
  bool begun_ = false;       // its first byte has arrived
  bool is_counted_ = false;  // it is counted among the open ones
  bool broken_ = false;      // the bytes after it are meaningless
  bool has_place_ = false;
  std::size_t held_ = 0;  // bytes of its body that are reserved in Hub::bytes
  std::string id_;
  std::chrono::steady_clock::time_point arrival_;
  std::optional<HttpReply> reply_;
  bool streams_ = false;  // more of the reply follows
  std::string out_;
  std::size_t sent_ = 0;  // number of its bytes that are sent
};

}  // namespace attend::serve
