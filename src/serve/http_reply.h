// Replies as the library of HTTP sends them.
#pragma once

#include "serve/server.h"

#include <atomic>

#include <httplib.h>

namespace attend::serve {

void set_json(httplib::Response& response, int status, const Json& json);
// An error as a reply. What is the server's own fault is also said in the log.
void set_error(const httplib::Request& request, httplib::Response& response, const std::exception_ptr& error);
// Sends what comes through the pipe, until its end or until the client has left. `open` is held until then.
// `out_of_time`: the server ends now, whatever is still to come.
void send_as_it_comes(const httplib::Request& request, httplib::Response& response, const Reply& reply,
                      std::shared_ptr<void> open, const std::atomic<bool>& out_of_time);

}  // namespace attend::serve
