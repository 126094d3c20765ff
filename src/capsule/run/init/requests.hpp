#pragma once
/// @file
/// What the agent asks of a capsule.
///
/// On the control socket (SOCK_SEQPACKET) every message is one packet of text:
///
///   go                     all is in place; the end of a connection before that ends the capsule
///   status                 "phase …", and a line for each service and step moment
///   step MOMENT [SINCE]    runs the steps of that moment; answered when they have ended
///   signal SERVICE NUMBER  to the service's process
///   restart SERVICE        ends it and starts it again
///   saves                  "ok NUMBER BEHIND": what is saved up to now, and for how long a save may be missing on the
///                          standby, in milliseconds; -1: none is
///   saves copied NUMBER    a copy holds all that was saved up to that number
///   saves wanted           answered when somebody waits for a copy that is begun from then on
///   stop                   as SIGTERM
///
/// Each is answered by "ok …" or "error …", `step` by "step MOMENT RESULT" and the end of the output.

namespace underway::run::init {

constexpr int kMaxClients = 8;

/// Who is connected; -1: nobody.
extern int clients[kMaxClients];

/// Takes one more from the control socket.
void admit(int listening);
/// Hears a client of `clients`, and does what he asks. Who has gone leaves his place.
void serve(int& client);
/// To a client that may have gone.
void answer(int client, const char* text);
/// Tells those that wait for a copy that one is wanted.
void ask_for_copies();

}  // namespace underway::run::init
