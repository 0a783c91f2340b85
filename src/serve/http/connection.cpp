#include "serve/http/connection.h"

#include "serve/http/request_log.h"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <malloc.h>

namespace attend::serve {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kSmallRead = 4096, kLargeRead = 65536;  // bytes
constexpr std::size_t kAhead = 65536;  // bytes of further requests that are read while one is processed
constexpr std::size_t kDrained = std::size_t{1} << 20;    // bytes of a rejected body that are read to its end
constexpr std::size_t kPiece = 65536;                     // bytes that a client must read within the write
                                                          // limit
constexpr std::size_t kLargeBody = std::size_t{1} << 20;  // bytes; memory is given back after such requests
constexpr double kLingerSeconds = 10;                     // for a client to read why it was rejected
constexpr int kClientHasLeft = 499;                       // like nginx; only logs and metrics show it

}  // namespace

Connection::Connection(Hub& hub, std::unique_ptr<Wire> wire, std::string client)
    : hub_(hub),
      wire_(std::move(wire)),
      client_(std::move(client)),
      deadline_(hub.loop),
      reader_(hub.options.largest_header, hub.options.largest_body) {
  hub_.connections.insert(this);
}

Connection::~Connection() {
  end_request();
  hub_.connections.erase(this);
}

#include <boost/asio/yield.hpp>
// The whole life of a connection. Each yield waits for an event, whose callback keeps the connection alive.
void Connection::go() {
  reenter(place_) {
    limit(hub_.options.header_seconds);
    yield {
      wait(Event::begin);
      wire_->begin([self = shared_from_this()](error_code error, std::size_t) {
        if (error) self->end_now();
        self->resume(Event::begin);
      });
    }
    do {
      begin_request();
      while (needs_head()) yield read();
      check_head();
      if (expects_word()) {
        yield write_word("HTTP/1.1 100 Continue\r\n\r\n");
      }
      limit(hub_.options.body_seconds);
      while (needs_body()) yield read();
      dispatch();
      while (is_working()) yield wait(Event::work);
      begin_reply();
      while (has_output()) {
        if (sent_ < out_.size())
          yield write();
        else
          yield wait(Event::work);
      }
      end_request();
    } while (is_open_ && keeps_alive_);
    wire_->say_end();
    limit(kLingerSeconds);
    while (lingers()) yield read();
    end_now();
  }
}
#include <boost/asio/unyield.hpp>

// The callback of a cancelled timer may be queued already; it then finds that there is no limit.
void Connection::no_limit() {
  deadline_.expires_at(std::chrono::steady_clock::time_point::max());
}

void Connection::resume(Event event) {
  if (awaited_ != event) return;
  awaited_ = Event::none;
  go();
}

void Connection::refuse_all(HttpReply reply) {
  refusal_ = std::move(reply);
  go();
}

void Connection::limit(double seconds) {
  deadline_.expires_after(std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6)));
  deadline_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    // A new limit may have been set while the callback of the old one was queued.
    if (error || !self || self->deadline_.expiry() > std::chrono::steady_clock::now()) return;
    self->end_now();
  });
}

// Operations in flight end with an error, and the coroutine sees that the connection is closed.
void Connection::end_now() {
  is_open_ = false;
  no_limit();
  wire_->close();
}

void Connection::read() {
  wait(Event::input);
  start_read(reader_.has_head() && !reader_.is_done() ? kLargeRead : kSmallRead);
}

void Connection::start_read(std::size_t size) {
  if (std::exchange(reading_, true)) return;
  if (buffer_.size() != size) std::string(size, '\0').swap(buffer_);
  wire_->read_some(buffer_.data(), buffer_.size(),
                   [self = shared_from_this()](error_code error, std::size_t count) {
                     self->reading_ = false;
                     self->in_.append(self->buffer_, 0, count);
                     if (error) self->input_over_ = true;
                     if (self->awaited_ == Event::input) return self->resume(Event::input);
                     // A client that disconnects while its request is processed, or a pipelined request.
                     if (error)
                       self->resume(Event::work);
                     else if (self->in_.size() < kAhead)
                       self->start_read(kSmallRead);
                   });
}

void Connection::feed() {
  if (broken_) return;
  try {
    while (!in_.empty() && !reader_.is_done()) {
      const bool had_head = reader_.has_head();
      const std::size_t used = reader_.put(in_);
      in_.erase(0, used);
      if (used == 0 || had_head != reader_.has_head()) break;
    }
  } catch (...) {
    broken_ = true;
    reply_ = error_reply(reader_.head(), std::current_exception());
  }
}

void Connection::begin_request() {
  reader_.next();
  begun_ = broken_ = false;
  limit(hub_.options.idle_seconds);
}

bool Connection::needs_head() {
  if (!std::exchange(begun_, begun_ || !in_.empty()) && begun_) {
    arrival_ = std::chrono::steady_clock::now();
    limit(hub_.options.header_seconds);
  }
  feed();
  if (broken_ || reader_.has_head()) return false;
  if (input_over_) is_open_ = false;
  return is_open_;
}

void Connection::check_head() {
  if (!is_open_) return;
  is_counted_ = true;
  ++hub_.open;
  const RequestHead& head = reader_.head();
  id_ = request_id(head.request_id);
  keeps_alive_ = !broken_ && head.keeps_alive && !hub_.stopping && !refusal_;
  if (broken_) return;
  reply_ = refusal_ ? std::move(refusal_) : hub_.router.early_reply(head, hub_.stopping);
  if (!reply_) return;
  // A short body is read to its end, because otherwise it would look like the next request.
  const bool is_short = !head.expects_continue && head.length.value_or(0) <= kDrained;
  if (!reader_.is_done() && !is_short) keeps_alive_ = false;
  reader_.discard();
}

bool Connection::expects_word() const {
  return is_open_ && !reply_ && !reader_.is_done() && reader_.head().expects_continue;
}

bool Connection::needs_body() {
  if (!is_open_) return false;
  feed();
  if (broken_) keeps_alive_ = false;
  if (broken_ || reader_.is_done()) return false;
  if (reply_ && !keeps_alive_) return false;
  if (reply_ && reader_.body_size() > kDrained) keeps_alive_ = false;
  hold_body();
  if (input_over_) is_open_ = false;
  return is_open_;
}

// Reserves memory for the part of the body that has arrived.
void Connection::hold_body() {
  const std::size_t size = reader_.body_size();
  if (reply_ || size <= held_) return;
  if (hub_.bytes.take(size - held_)) {
    held_ = size;
    return;
  }
  reader_.discard();
  keeps_alive_ = false;
  refuse_with(503, "the requests in memory have reached the limit: try again later");
}

void Connection::refuse_with(int status, const std::string& message) {
  reply_ = error_reply(status, message);
}

void Connection::dispatch() {
  no_limit();
  if (reply_ || !is_open_) return;
  const RequestHead& head = reader_.head();
  if (hub_.router.is_quick(head)) {
    reply_ = hub_.router.answer(head, {});
    return;
  }
  has_place_ = hub_.places.take(1);
  if (!has_place_)
    return refuse_with(
        429, fmt::format("{} requests are in flight already: try again later", hub_.options.requests));
  const auto body = std::make_shared<std::string>(reader_.take_body());
  // The connection itself goes back to the loop; only the loop may destroy it.
  asio::post(hub_.workers, [self = shared_from_this(), head, body]() mutable {
    asio::io_context& loop = self->hub_.loop;
    std::shared_ptr<HttpReply> reply;
    if (self->is_open_) reply = std::make_shared<HttpReply>(self->hub_.router.answer(head, *body));
    const bool is_large = body->size() > kLargeBody;
    *body = {};
    asio::post(loop, [self = std::move(self), reply] {
      if (reply) self->take(std::move(*reply));
    });
    // glibc keeps what each thread has freed, and the tokens of a text of 5 MB are 50 MB of small blocks.
    if (is_large) malloc_trim(0);
  });
  start_read(kSmallRead);
}

void Connection::take(HttpReply reply) {
  const std::shared_ptr<Pipe> pipe = reply.content.more;
  if (!is_open_ || reply_) {  // it was aborted
    if (pipe) pipe->gone();
    return;
  }
  reply_ = std::move(reply);
  if (pipe) listen_to(pipe);
  resume(Event::work);
}

void Connection::listen_to(const std::shared_ptr<Pipe>& pipe) {
  const auto told = std::make_shared<std::atomic<bool>>(false);
  pipe->on_more([weak = weak_from_this(), told, &loop = hub_.loop] {
    if (told->exchange(true)) return;  // it will check in any case
    asio::post(loop, [weak, told] {
      *told = false;
      if (const auto self = weak.lock()) self->resume(Event::work);
    });
  });
}

// Whether there is nothing to send yet. Until then an error can have its own status.
bool Connection::is_working() {
  if (!is_open_) return false;
  const std::shared_ptr<Pipe> pipe = reply_ ? reply_->content.more : nullptr;
  if (reply_ && !pipe) return false;
  if (input_over_) {
    if (pipe) pipe->gone();
    refuse_with(kClientHasLeft, "the client has left");
    end_now();
    return false;
  }
  Pipe::Part first = pipe ? pipe->take(std::chrono::milliseconds(0)) : Pipe::Part{{}, Pipe::State::open};
  if (first.state == Pipe::State::open && first.text.empty() && !hub_.out_of_time) return true;
  if (first.state == Pipe::State::broken || (hub_.out_of_time && first.state == Pipe::State::open)) {
    if (pipe) pipe->gone();
    keeps_alive_ = keeps_alive_ && first.state == Pipe::State::broken;
    if (first.error)
      reply_ = error_reply(reader_.head(), first.error);
    else
      refuse_with(503, "the server is stopping");
    return false;
  }
  streams_ = first.state == Pipe::State::open;
  if (!streams_) reply_->content.more = nullptr;
  reply_->content.text = std::move(first.text);
  return false;
}

void Connection::begin_reply() {
  if (!is_open_ || !reply_) return;
  const bool in_chunks = streams_ && reader_.head().is_1_1;
  if (streams_ && !in_chunks) keeps_alive_ = false;
  if (hub_.stopping) keeps_alive_ = false;
  reply_->headers.emplace_back("X-Request-Id", id_);
  const std::string& text = reply_->content.text;
  sent_ = 0;
  out_ = head_of(*reply_, streams_ ? std::nullopt : std::optional(text.size()), in_chunks, keeps_alive_);
  if (reader_.head().method != "HEAD") out_ += in_chunks ? chunk_of(text) : text;
  reply_->content.text = {};
}

bool Connection::has_output() {
  if (!is_open_) return false;
  if (sent_ < out_.size()) return true;
  out_.clear();
  sent_ = 0;
  if (!streams_) return false;
  if (input_over_ || hub_.out_of_time)
    end_now();
  else
    put_next_of_stream();
  return is_open_ && (streams_ || !out_.empty());
}

void Connection::put_next_of_stream() {
  no_limit();
  const bool in_chunks = reader_.head().is_1_1;
  const Pipe::Part part = reply_->content.more->take(std::chrono::milliseconds(0));
  if (part.state == Pipe::State::broken) return end_now();
  if (!part.text.empty()) out_ = in_chunks ? chunk_of(part.text) : part.text;
  if (part.state == Pipe::State::open) return;
  streams_ = false;
  reply_->content.more = nullptr;
  if (in_chunks) out_ += kLastChunk;
}

void Connection::write() {
  limit(hub_.options.write_seconds);
  wait(Event::output);
  wire_->write(out_.data() + sent_, std::min(kPiece, out_.size() - sent_),
               [self = shared_from_this()](error_code error, std::size_t count) {
                 self->sent_ += count;
                 if (error) self->end_now();
                 self->resume(Event::output);
               });
}

void Connection::write_word(const char* word) {
  out_ = word;
  sent_ = 0;
  write();
}

void Connection::end_request() {
  if (reply_ && reply_->content.more) reply_->content.more->gone();  // the rest is not read
  if (std::exchange(is_counted_, false)) {
    --hub_.open;
    const int status = reply_ ? reply_->status : kClientHasLeft;
    const RequestHead& head = reader_.head();
    hub_.router.count(head, status);
    if (hub_.options.logs_requests) {
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - arrival_;
      Json line = {{"message", "request"}, {"request_id", id_}, {"method", head.method},
                   {"path", head.path},    {"status", status},  {"seconds", seconds.count()},
                   {"client", client_}};
      if (reply_) line.update(reply_->facts);
      write_log_line(status >= 500 ? "error" : "info", line);
    }
  }
  if (std::exchange(has_place_, false)) hub_.places.give(1);
  hub_.bytes.give(std::exchange(held_, 0));
  reply_.reset();
  streams_ = false;
  out_ = {};
  sent_ = 0;
}

bool Connection::lingers() {
  in_.clear();
  return is_open_ && !input_over_;
}

}  // namespace attend::serve
