// One connection: requests come, replies go, one after the other. All of it runs on the loop's thread but the
// handlers, which run on the workers.
#pragma once

#include "serve/hub.h"
#include "serve/wire.h"

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
  // The first request is answered with this, whatever it is; nothing follows.
  void turn_away(HttpReply reply);
  // Hub::out_of_time has changed.
  void look() { resume(Event::work); }

 private:
  enum class Event { none, begin, input, output, work };

  void go();                 // from where it waits
  void resume(Event event);  // if that is what it waits for
  void wait(Event event) { awaited_ = event; }
  void limit(double seconds);  // for what it waits for next; then the connection ends
  void no_limit();
  void end_now();

  // Bytes that come. What it feeds to the reader, and whether more is needed.
  void read();
  void start_read(std::size_t size);
  void feed();
  void begin_request();
  bool needs_head();
  bool needs_body();
  void check_head();
  bool expects_word() const;
  void hold_body();

  // Work.
  void dispatch();
  void take(HttpReply reply);
  bool is_working();
  void listen_to(const std::shared_ptr<Pipe>& pipe);
  void refuse_with(int status, const std::string& message);

  // Bytes that go.
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
  std::atomic<bool> is_open_ = true;  // else it ends
  bool keeps_alive_ = true;           // after this reply
  bool input_over_ = false;           // the client sends no more: it has left
  bool reading_ = false;              // a read is under way
  std::string buffer_, in_;           // of that read; what has come and is not understood yet
  RequestReader reader_;
  std::optional<HttpReply> refusal_;  // of turn_away

  // The present request.
  bool begun_ = false;       // its first byte has come
  bool is_counted_ = false;  // among the open ones
  bool broken_ = false;      // the bytes behind it mean nothing
  bool has_place_ = false;
  std::size_t held_ = 0;  // bytes of its body, of Hub::bytes
  std::string id_;
  std::chrono::steady_clock::time_point arrival_;
  std::optional<HttpReply> reply_;
  bool streams_ = false;  // more of the reply comes
  std::string out_;
  std::size_t sent_ = 0;  // of it
};

}  // namespace attend::serve
