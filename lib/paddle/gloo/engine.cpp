// SPDX-License-Identifier: MIT
//
// The engine over gloo: TCP connections between all ranks of a communicator.

#include "failure.hpp"
#include "reduce.hpp"
#include "rendezvous.hpp"
#include "signals.hpp"
#include "sockets.hpp"

#include <atomic>
#include <cstring>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/common/logging.h>
#include <gloo/context.h>
#include <gloo/reduce.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/tcp/address.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/types.h>
#include <list>
#include <mutex>
#include <netdb.h>
#include <vector>

// This is how C knows them.
struct engine_request {
	std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
	engine_comm *comm;
	int peer;
	bool is_send;
};

namespace
{

using buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

// A context whose pairs are connected with the addresses of one exchange.
class mesh : public gloo::Context {
    public:
	using gloo::Context::Context;

	void connect(std::shared_ptr<gloo::transport::Device> device, const rendezvous::place &where,
		     rendezvous::moment deadline);

    private:
	sockets::name connect_pair(int to, const rendezvous::blob &theirs, rendezvous::moment deadline);
};

using addresses = std::vector<rendezvous::blob>;

// Of the pairs with each rank; that with the rank itself is empty. All others have the same length.
rendezvous::blob joined(const addresses &all)
{
	rendezvous::blob result;

	for (const auto &one : all)
		result.insert(result.end(), one.begin(), one.end());
	return result;
}

// The one that is for `rank`, of a rank's own.
rendezvous::blob address_for(const rendezvous::blob &all, int owner, int rank, int size)
{
	size_t length = all.size() / static_cast<size_t>(size - 1);
	auto from = all.begin() + static_cast<ptrdiff_t>(length * static_cast<size_t>(rank - (rank > owner)));

	return { from, from + static_cast<ptrdiff_t>(length) };
}

sockaddr_storage socket_address(const rendezvous::blob &bytes)
{
	return gloo::transport::tcp::Address(bytes).getSockaddr();
}

std::string name_of(const rendezvous::blob &bytes)
{
	sockaddr_storage where = socket_address(bytes);
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo(reinterpret_cast<const sockaddr *>(&where), sizeof(where), host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		return "an unknown address";
	return std::string(host) + " port " + port;
}

int error_of(const gloo::Exception &error)
{
	if (!dynamic_cast<const gloo::IoException *>(&error))
		return -EIO;
	return strstr(error.what(), "imed out") || strstr(error.what(), "imeout") ? -ETIMEDOUT : -ECONNRESET;
}

// Without the line of gloo's source ahead of it.
std::string text_of(const std::exception &error)
{
	const char *text = error.what(), *end = *text == '[' ? strstr(text, "] ") : nullptr;

	return end ? end + 2 : text;
}

// Without the address, whose port has its bytes the wrong way round.
std::string reason_of(const gloo::Exception &error)
{
	std::string text = text_of(error);
	size_t at = text.rfind(": ");

	return error_of(error) == -ETIMEDOUT || at == std::string::npos ? strerror(-error_of(error)) :
									  text.substr(at + 2);
}

// A pair waits five times the limit that the context has when it is made.
constexpr int pair_factor = 5;

void mesh::connect(std::shared_ptr<gloo::transport::Device> device, const rendezvous::place &where,
		   rendezvous::moment deadline)
{
	addresses mine;
	std::vector<sockets::name> connected;

	transportContext_ = device->createContext(rank, size);
	transportContext_->setTimeout(getTimeout() / pair_factor);
	for (int i = 0; i < size; i++)
		if (i != rank)
			mine.push_back(transportContext_->createPair(i)->address().bytes());
	transportContext_->setTimeout(getTimeout());
	auto all = rendezvous::exchange(where, rank, size, joined(mine), deadline);
	for (int i = 0; i < size; i++)
		if (i != rank)
			connected.push_back(
				connect_pair(i, address_for(all[static_cast<size_t>(i)], i, rank, size), deadline));
	sockets::keep_from_children(connected);
	device_ = std::move(device);
}

sockets::name mesh::connect_pair(int to, const rendezvous::blob &theirs, rendezvous::moment deadline)
{
	auto &pair = transportContext_->getPair(to);
	std::string peer = "cannot connect to rank " + std::to_string(to) + " at " + name_of(theirs) + ": ";
	sockaddr_storage listening = socket_address(pair->address().bytes());
	sockets::name result = {};

	if (std::chrono::steady_clock::now() >= deadline)
		throw failure(ETIMEDOUT, peer + "the limit is over");
	try {
		pair->connect(theirs);
	} catch (const gloo::Exception &error) {
		throw failure(-error_of(error), peer + reason_of(error));
	}
	result.own = socket_address(pair->address().bytes());
	if (!sockets::is_same(result.own, listening))
		result.peer = socket_address(theirs);
	return result;
}

// ---- What a process has ----

std::mutex lock;
// Of ids that are not used yet.
std::list<std::unique_ptr<rendezvous::server>> servers;

// One for all communicators: it has the thread that reads and writes.
std::shared_ptr<gloo::transport::Device> shared_device()
{
	static std::weak_ptr<gloo::transport::Device> known;
	std::lock_guard<std::mutex> guard(lock);
	auto device = known.lock();

	if (!device) {
		blocked_signals blocked;

		device = gloo::transport::tcp::CreateDevice(rendezvous::own_address().c_str());
		known = device;
	}
	return device;
}

std::unique_ptr<rendezvous::server> take_server(const rendezvous::place &where)
{
	std::lock_guard<std::mutex> guard(lock);

	for (auto it = servers.begin(); it != servers.end(); ++it) {
		if ((*it)->where().secret == where.secret) {
			auto found = std::move(*it);

			servers.erase(it);
			return found;
		}
	}
	throw failure(EINVAL, "rank 0 has to be the process that made the unique id, and uses it once");
}

// ---- Errors ----

thread_local std::string sentence;

int keep(int err, const std::string &text)
{
	sentence = text;
	return err;
}

// Exceptions end here: the plugin is in C. gloo writes in the thread that calls, and without MSG_NOSIGNAL.
template <typename Function> int guarded(Function function)
{
	no_sigpipe guard;

	try {
		function();
		return 0;
	} catch (const failure &error) {
		return keep(error.err, error.what());
	} catch (const gloo::Exception &error) {
		return keep(error_of(error), text_of(error));
	} catch (const std::bad_alloc &) {
		return keep(-ENOMEM, "out of memory");
	} catch (const std::exception &error) {
		return keep(-EIO, error.what());
	}
}

} // namespace

struct engine_comm {
	std::shared_ptr<mesh> context;
	std::atomic<bool> is_aborted{ false };
	std::mutex lock; // of what follows
	std::list<engine_request *> waited_for;
	std::vector<bool> is_lost; // of each rank: nothing moves to and from it any more
};

namespace
{

buffer buffer_of(const engine_comm *comm, void *data, size_t size)
{
	return comm->context->createUnboundBuffer(data, size);
}

void check(const engine_comm *comm)
{
	if (comm->is_aborted)
		throw failure(ECONNABORTED, "the connections were closed after an error before");
}

reducer reducer_for(enum type type, reduction op)
{
	reducer found = find_reducer(type, op);

	if (!found.reduce)
		throw failure(EOPNOTSUPP, "elements of this type have no such reduction");
	return found;
}

// gloo has the size of an element from a type.
struct bytes1 {
	char at[1];
};
struct bytes2 {
	char at[2];
};
struct bytes4 {
	char at[4];
};
struct bytes8 {
	char at[8];
};
struct bytes16 {
	char at[16];
};

template <typename Options> void set_output(Options &options, void *data, size_t count, enum type type)
{
	switch (type) {
	case TYPE_BOOL:
	case TYPE_UINT8:
	case TYPE_INT8:
		return options.setOutput(static_cast<bytes1 *>(data), count);
	case TYPE_UINT16:
	case TYPE_INT16:
	case TYPE_FLOAT16:
	case TYPE_BFLOAT16:
		return options.setOutput(static_cast<bytes2 *>(data), count);
	case TYPE_UINT32:
	case TYPE_INT32:
	case TYPE_FLOAT32:
		return options.setOutput(static_cast<bytes4 *>(data), count);
	case TYPE_COMPLEX128:
		return options.setOutput(static_cast<bytes16 *>(data), count);
	default:
		return options.setOutput(static_cast<bytes8 *>(data), count);
	}
}

size_t size_of(enum type type)
{
	switch (type) {
	case TYPE_BOOL:
	case TYPE_UINT8:
	case TYPE_INT8:
		return 1;
	case TYPE_UINT16:
	case TYPE_INT16:
	case TYPE_FLOAT16:
	case TYPE_BFLOAT16:
		return 2;
	case TYPE_UINT32:
	case TYPE_INT32:
	case TYPE_FLOAT32:
		return 4;
	case TYPE_COMPLEX128:
		return 16;
	default:
		return 8;
	}
}

// ---- The table ----

const char *error()
{
	return sentence.c_str();
}

int make_id(unsigned char id[ENGINE_ID_SIZE])
{
	return guarded([&] {
		auto made = std::make_unique<rendezvous::server>();
		std::lock_guard<std::mutex> guard(lock);

		rendezvous::write_id(made->where(), id);
		servers.push_back(std::move(made));
	});
}

int create(const unsigned char id[ENGINE_ID_SIZE], int rank, int size, unsigned int limit_ms,
	   engine_comm **comm)
{
	return guarded([&] {
		auto limit = std::chrono::milliseconds(limit_ms);
		auto deadline = std::chrono::steady_clock::now() + limit;
		auto made = std::make_unique<engine_comm>();
		auto where = rendezvous::read_id(id);
		auto server = rank ? nullptr : take_server(where);

		if (server)
			server->start(size);
		made->context = std::make_shared<mesh>(rank, size);
		made->context->setTimeout(limit);
		made->is_lost.resize(static_cast<size_t>(size));
		if (size > 1)
			made->context->connect(shared_device(), where, deadline);
		*comm = made.release();
	});
}

void wake(engine_request *request)
{
	if (request->is_send)
		request->buffer->abortWaitSend();
	else
		request->buffer->abortWaitRecv();
}

void abort_comm(engine_comm *comm)
{
	comm->is_aborted = true;
	if (comm->context->size > 1)
		comm->context->closeConnections();
	// gloo does not wake them when the connections are closed from here.
	std::lock_guard<std::mutex> guard(comm->lock);
	for (auto *one : comm->waited_for)
		wake(one);
}

void destroy(engine_comm *comm)
{
	delete comm;
}

int all_reduce(engine_comm *comm, uint32_t tag, void *data, size_t count, enum type type, reduction op)
{
	return guarded([&] {
		reducer with = reducer_for(type, op);
		gloo::AllreduceOptions options(comm->context);

		check(comm);
		if (comm->context->size == 1)
			return;
		set_output(options, data, count, type);
		options.setReduceFunction(with.reduce);
		options.setTag(tag);
		gloo::allreduce(options);
		if (with.divide)
			with.divide(data, count, comm->context->size);
	});
}

int reduce(engine_comm *comm, uint32_t tag, void *data, size_t count, enum type type, reduction op, int root)
{
	return guarded([&] {
		reducer with = reducer_for(type, op);
		gloo::ReduceOptions options(comm->context);

		check(comm);
		if (comm->context->size == 1)
			return;
		set_output(options, data, count, type);
		options.setReduceFunction(with.reduce);
		options.setRoot(root);
		options.setTag(tag);
		gloo::reduce(options);
		if (with.divide)
			with.divide(data, count, comm->context->size);
	});
}

int broadcast(engine_comm *comm, uint32_t tag, void *data, size_t size, int root)
{
	return guarded([&] {
		gloo::BroadcastOptions options(comm->context);

		check(comm);
		if (comm->context->size == 1)
			return;
		options.setOutput(static_cast<char *>(data), size);
		options.setRoot(root);
		options.setTag(tag);
		gloo::broadcast(options);
	});
}

int all_gather(engine_comm *comm, uint32_t tag, void *in, void *out, size_t size)
{
	return guarded([&] {
		gloo::AllgatherOptions options(comm->context);

		check(comm);
		if (comm->context->size == 1) {
			memcpy(out, in, size);
			return;
		}
		options.setInput(static_cast<char *>(in), size);
		options.setOutput(static_cast<char *>(out), size * static_cast<size_t>(comm->context->size));
		options.setTag(tag);
		gloo::allgather(options);
	});
}

// The size of the block is part of the slot: gloo writes a shorter message into the buffer without an error, and a
// longer one ends the process. gloo's own slots have less than 16 in the highest byte.
uint64_t block_slot(uint32_t tag, size_t size)
{
	return 1ull << 62 | static_cast<uint64_t>(tag & 0x3fff) << 48 | static_cast<uint64_t>(tag >> 24) << 40 |
	       (size & ((1ull << 40) - 1));
}

// All receives are posted before the first send: no rank waits for another one's order.
void exchange_blocks(const engine_comm *comm, uint32_t tag, const engine_blocks *in,
		     const engine_blocks *out)
{
	int size = comm->context->size, own = comm->context->rank;
	std::vector<buffer> sends, receives;

	memcpy(out->at[own], in->at[own], in->sizes[own]);
	for (int i = 1; i < size; i++) {
		int from = (own - i + size) % size;

		if (out->sizes[from]) {
			receives.push_back(buffer_of(comm, out->at[from], out->sizes[from]));
			receives.back()->recv(from, block_slot(tag, out->sizes[from]));
		}
	}
	for (int i = 1; i < size; i++) {
		int to = (own + i) % size;

		if (in->sizes[to]) {
			sends.push_back(buffer_of(comm, in->at[to], in->sizes[to]));
			sends.back()->send(to, block_slot(tag, in->sizes[to]));
		}
	}
	for (auto &one : receives)
		one->waitRecv(comm->context->getTimeout());
	for (auto &one : sends)
		one->waitSend(comm->context->getTimeout());
}

int all_to_all(engine_comm *comm, uint32_t tag, const engine_blocks *in, const engine_blocks *out)
{
	return guarded([&] {
		check(comm);
		exchange_blocks(comm, tag, in, out);
	});
}

// Each rank gets the parts that it sums, and reduces them in the order of ranks.
int reduce_scatter(engine_comm *comm, uint32_t tag, void *in, void *out, size_t count, enum type type,
		   reduction op)
{
	return guarded([&] {
		reducer with = reducer_for(type, op);
		size_t size = static_cast<size_t>(comm->context->size), block = count * size_of(type);
		std::vector<char> parts(size * block);
		std::vector<void *> from(size), to(size);
		std::vector<size_t> sizes(size, block);

		check(comm);
		for (size_t i = 0; i < size; i++) {
			from[i] = static_cast<char *>(in) + i * block;
			to[i] = parts.data() + i * block;
		}
		engine_blocks sent = { from.data(), sizes.data() }, got = { to.data(), sizes.data() };
		exchange_blocks(comm, tag, &sent, &got);
		memcpy(out, to[0], block);
		for (size_t i = 1; i < size; i++)
			with.reduce(out, out, to[i], count);
		if (with.divide)
			with.divide(out, count, comm->context->size);
	});
}

// gloo's own slots leave the highest bit 0.
uint64_t slot_of(uint64_t tag)
{
	return tag | 1ull << 63;
}

int start(engine_comm *comm, uint64_t tag, void *data, size_t size, int peer, bool is_send,
	  engine_request **request)
{
	return guarded([&] {
		auto made = std::make_unique<engine_request>();

		check(comm);
		made->buffer = buffer_of(comm, data, size);
		made->comm = comm;
		made->peer = peer;
		made->is_send = is_send;
		if (is_send)
			made->buffer->send(peer, slot_of(tag));
		else
			made->buffer->recv(peer, slot_of(tag));
		*request = made.release();
	});
}

int send(engine_comm *comm, uint64_t tag, const void *data, size_t size, int to, engine_request **request)
{
	return start(comm, tag, const_cast<void *>(data), size, to, true, request);
}

int receive(engine_comm *comm, uint64_t tag, void *data, size_t size, int from, engine_request **request)
{
	return start(comm, tag, data, size, from, false, request);
}

// While it exists, wake() ends a wait for the request. Connections that are closed move nothing more: there is nothing
// to wait for.
class wait_scope {
    public:
	explicit wait_scope(engine_request *request) : comm(request->comm)
	{
		std::lock_guard<std::mutex> guard(comm->lock);

		check(comm);
		if (comm->is_lost[static_cast<size_t>(request->peer)])
			throw lost(request->peer);
		place = comm->waited_for.insert(comm->waited_for.end(), request);
	}

	~wait_scope()
	{
		std::lock_guard<std::mutex> guard(comm->lock);

		comm->waited_for.erase(place);
	}

	static failure lost(int peer)
	{
		return failure(ECONNABORTED, "the connection to rank " + std::to_string(peer) + " was closed");
	}

    private:
	engine_comm *comm;
	std::list<engine_request *>::iterator place;
};

// After an error of one message there is no connection to the rank, and after a timeout to none. gloo does not wake
// waits for messages that have begun.
void lose(engine_comm *comm, int peer, bool has_timed_out)
{
	std::lock_guard<std::mutex> guard(comm->lock);

	if (has_timed_out)
		comm->is_lost.assign(comm->is_lost.size(), true);
	comm->is_lost[static_cast<size_t>(peer)] = true;
	for (auto *one : comm->waited_for)
		if (comm->is_lost[static_cast<size_t>(one->peer)])
			wake(one);
}

int wait(engine_request *request)
{
	std::unique_ptr<engine_request> owned(request);
	int err = guarded([&] {
		auto limit = request->comm->context->getTimeout();
		wait_scope scope(request);

		if (!(request->is_send ? request->buffer->waitSend(limit) : request->buffer->waitRecv(limit)))
			throw wait_scope::lost(request->peer);
	});

	if (err)
		lose(request->comm, request->peer, err == -ETIMEDOUT);
	return err;
}

const engine table = { ENGINE_VERSION, "gloo",	  error,      make_id, create,	abort_comm, destroy, all_reduce,
		       reduce,	       reduce_scatter, broadcast, all_gather, all_to_all, send,	    receive, wait };

} // namespace

extern "C" __attribute__((visibility("default"))) const engine *paddle_accel_engine()
{
	return &table;
}
