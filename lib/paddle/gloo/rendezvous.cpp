// SPDX-License-Identifier: MIT

#include "rendezvous.hpp"
#include "failure.hpp"
#include "signals.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rendezvous
{

namespace
{

constexpr std::array<char, 8> magic = { 'a', 'c', 'c', 'e', 'l', 'g', 'l', '1' };
constexpr size_t most_bytes = 1 << 20; // of one blob
constexpr size_t most_strangers = 64; // connections that have not shown the secret, besides those of the ranks
constexpr int retry_ms = 100; // without room for a connection
constexpr int stall_ms = 10000; // in which some rank takes a part of its answer
constexpr std::chrono::seconds grace(1); // in which a connection shows the secret

// What a rank sends ahead of its blob.
struct greeting {
	std::array<char, 16> secret;
	uint32_t rank, size, length;
};

// Ahead of each blob that is sent back.
using length_word = uint32_t;

[[noreturn]] void fail(int number, const std::string &what)
{
	throw failure(number, what + ": " + strerror(number));
}

int left_ms(moment deadline)
{
	auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
		deadline - std::chrono::steady_clock::now());

	return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1 << 30));
}

// ---- Addresses ----

struct address {
	sockaddr_storage storage;
	socklen_t length;
	int family;

	const sockaddr *get() const
	{
		return reinterpret_cast<const sockaddr *>(&storage);
	}
};

std::optional<address> look_up(const std::string &host, uint16_t port)
{
	addrinfo hints = {}, *found = nullptr;
	address result = {};

	hints.ai_family = AF_UNSPEC;
	hints.ai_socktype = SOCK_STREAM;
	if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) || !found)
		return std::nullopt;
	memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
	result.length = found->ai_addrlen;
	result.family = found->ai_family;
	freeaddrinfo(found);
	return result;
}

std::string numeric(const address &of)
{
	char text[NI_MAXHOST];

	if (getnameinfo(of.get(), of.length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST))
		return {};
	return text;
}

bool is_loopback(const address &of)
{
	if (of.family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6 *>(&of.storage)->sin6_addr);
	return ntohl(reinterpret_cast<const sockaddr_in *>(&of.storage)->sin_addr.s_addr) >> 24 == 127;
}

// The address that the kernel would send from. A datagram socket that is connected sends nothing.
std::optional<address> source_for(const address &target)
{
	descriptor fd(socket(target.family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	address own = target;

	own.length = sizeof(own.storage);
	if (fd.get() < 0 || connect(fd.get(), target.get(), target.length) ||
	    getsockname(fd.get(), reinterpret_cast<sockaddr *>(&own.storage), &own.length))
		return std::nullopt;
	return own;
}

std::string text_of(const char *name)
{
	const char *text = getenv(name);

	return text ? text : "";
}

std::string host_of(const std::string &endpoint)
{
	return endpoint.substr(0, endpoint.rfind(':'));
}

// Machines of the job, the most telling one first.
std::vector<std::string> known_hosts()
{
	std::vector<std::string> hosts = { host_of(text_of("PADDLE_CURRENT_ENDPOINT")),
					   host_of(text_of("PADDLE_MASTER")), text_of("MASTER_ADDR") };
	std::string rest = text_of("PADDLE_TRAINER_ENDPOINTS");

	for (size_t from = 0, to; from < rest.size(); from = to + 1) {
		to = std::min(rest.find(',', from), rest.size());
		hosts.push_back(host_of(rest.substr(from, to - from)));
	}
	hosts.erase(std::remove(hosts.begin(), hosts.end(), ""), hosts.end());
	return hosts;
}

} // namespace

std::string own_address()
{
	std::string chosen = text_of("PADDLE_ACCEL_ADDRESS");

	if (!chosen.empty()) {
		auto found = look_up(chosen, 0);

		if (!found)
			throw failure(EINVAL, "PADDLE_ACCEL_ADDRESS=" + chosen +
						      ": it has to be an address or a name of this machine");
		return numeric(*found);
	}
	for (const auto &host : known_hosts()) {
		auto target = look_up(host, 9);
		auto own = target ? source_for(*target) : std::nullopt;

		if (own && !is_loopback(*own))
			return numeric(*own);
	}
	return "127.0.0.1";
}

// ---- Descriptors ----

descriptor &descriptor::operator=(descriptor &&other) noexcept
{
	std::swap(fd_, other.fd_);
	return *this;
}

descriptor::~descriptor()
{
	if (fd_ >= 0)
		close(fd_);
}

int descriptor::release()
{
	int fd = fd_;

	fd_ = -1;
	return fd;
}

// ---- Ids ----

void write_id(const place &where, unsigned char id[ENGINE_ID_SIZE])
{
	unsigned char *at = id;

	memset(id, 0, ENGINE_ID_SIZE);
	if (magic.size() + where.secret.size() + 2 + where.host.size() >= ENGINE_ID_SIZE)
		throw failure(EINVAL, "the address is too long: " + where.host);
	at = std::copy(magic.begin(), magic.end(), at);
	at = std::copy(where.secret.begin(), where.secret.end(), at);
	*at++ = static_cast<unsigned char>(where.port >> 8);
	*at++ = static_cast<unsigned char>(where.port & 0xff);
	std::copy(where.host.begin(), where.host.end(), at);
}

place read_id(const unsigned char id[ENGINE_ID_SIZE])
{
	const unsigned char *at = id + magic.size(), *end = id + ENGINE_ID_SIZE;
	place where = {};

	if (!std::equal(magic.begin(), magic.end(), id) || end[-1])
		throw failure(EINVAL, "the unique id was not made by this engine: all ranks need the "
				      "same one");
	std::copy(at, at + where.secret.size(), where.secret.begin());
	at += where.secret.size();
	where.port = static_cast<uint16_t>(at[0] << 8 | at[1]);
	where.host = reinterpret_cast<const char *>(at + 2);
	return where;
}

// ---- The server ----

namespace
{

// A connection whose blob may still come in.
struct guest {
	descriptor fd;
	blob bytes;
	bool is_complete = false;
	greeting said = {};
	moment since = std::chrono::steady_clock::now();
};

// False: the connection is of no use.
bool take_in(guest &from, const place &where, int size)
{
	char buffer[4096];
	ssize_t got = recv(from.fd.get(), buffer, sizeof(buffer), MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!got || from.is_complete)
		return false;
	from.bytes.insert(from.bytes.end(), buffer, buffer + got);
	if (from.bytes.size() < sizeof(greeting))
		return true;
	memcpy(&from.said, from.bytes.data(), sizeof(greeting));
	if (from.said.secret != where.secret || from.said.rank >= static_cast<uint32_t>(size) ||
	    from.said.size != static_cast<uint32_t>(size) || from.said.length > most_bytes)
		return false;
	from.is_complete = from.bytes.size() == sizeof(greeting) + from.said.length;
	return from.bytes.size() <= sizeof(greeting) + from.said.length;
}

// What all ranks are sent: the blob of each, after its length.
blob answer_of(const std::vector<guest> &guests)
{
	std::vector<const guest *> by_rank(guests.size());
	blob all;

	for (const auto &from : guests)
		by_rank.at(from.said.rank) = &from;
	for (const auto *from : by_rank) {
		length_word length = from->said.length;
		const char *word = reinterpret_cast<const char *>(&length);

		all.insert(all.end(), word, word + sizeof(length));
		all.insert(all.end(), from->bytes.begin() + sizeof(greeting), from->bytes.end());
	}
	return all;
}

// Sends as much as there is room for. False: the connection is of no use.
bool send_some(int fd, const char *&at, size_t &size)
{
	ssize_t sent = send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	at += sent;
	size -= static_cast<size_t>(sent);
	return true;
}

// Answers all ranks at once, until they have their answers or take nothing for a while. The connection of a rank
// that cannot be answered is closed. Rank 0 may have ended its exchange, and stop the server, before the others have
// their answers: they have as long from then on.
void answer(const std::vector<guest> &guests, int stop)
{
	struct part {
		const char *at;
		size_t size;
	};
	blob all = answer_of(guests);
	std::vector<part> parts(guests.size(), { all.data(), all.size() });
	std::vector<pollfd> left;
	auto deadline = moment::max();

	for (const auto &to : guests)
		left.push_back({ to.fd.get(), POLLOUT, 0 });
	left.push_back({ stop, POLLIN, 0 });
	while (std::any_of(left.begin(), left.end() - 1, [](const pollfd &one) { return one.fd >= 0; })) {
		int ready = poll(left.data(), left.size(), std::min(stall_ms, left_ms(deadline)));

		if (!ready || (ready < 0 && errno != EINTR))
			return;
		for (size_t i = 0; ready > 0 && i < guests.size(); i++)
			if (left[i].revents &&
			    (!send_some(left[i].fd, parts[i].at, parts[i].size) || !parts[i].size))
				left[i].fd = -1;
		if (ready > 0 && left.back().revents) {
			left.back().fd = -1;
			deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(stall_ms);
		}
	}
}

// The last of two connections of one rank counts: the rank has closed the first.
void drop_older(std::vector<guest> &guests)
{
	for (size_t i = guests.size(); i-- > 0;)
		for (size_t j = 0; j < i; j++)
			if (guests[i].is_complete && guests[j].is_complete &&
			    guests[i].said.rank == guests[j].said.rank) {
				guests.erase(guests.begin() + static_cast<ptrdiff_t>(j));
				break;
			}
}

// The oldest connection that has not shown the secret, which ranks do at once. False: there is none of that age.
bool drop_stranger(std::vector<guest> &guests)
{
	auto begin = std::chrono::steady_clock::now() - grace;
	auto oldest = std::find_if(guests.begin(), guests.end(), [&](const guest &one) {
		return one.bytes.size() < sizeof(greeting) && one.since < begin;
	});

	if (oldest == guests.end())
		return false;
	guests.erase(oldest);
	return true;
}

bool is_shortage(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM;
}

// False: there is no room for a connection now.
bool accept_one(int listener, std::vector<guest> &guests, int size)
{
	if (guests.size() >= static_cast<size_t>(size) + most_strangers && !drop_stranger(guests))
		return false;
	descriptor fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
	if (fd.get() < 0)
		return !is_shortage(errno) || drop_stranger(guests);
	guests.emplace_back();
	guests.back().fd = std::move(fd);
	return true;
}

} // namespace

server::server()
{
	address own;

	where_.host = own_address();
	if (getrandom(where_.secret.data(), where_.secret.size(), 0) !=
	    static_cast<ssize_t>(where_.secret.size()))
		fail(errno, "no random bytes");
	own = look_up(where_.host, 0).value();
	listener_ = descriptor(socket(own.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	stop_ = descriptor(eventfd(0, EFD_CLOEXEC));
	if (listener_.get() < 0 || stop_.get() < 0)
		fail(errno, "no socket");
	if (bind(listener_.get(), own.get(), own.length) || listen(listener_.get(), SOMAXCONN))
		fail(errno, "cannot listen on " + where_.host +
				    ", which has to be an address of this machine (PADDLE_ACCEL_ADDRESS)");
	own.length = sizeof(own.storage);
	if (getsockname(listener_.get(), reinterpret_cast<sockaddr *>(&own.storage), &own.length))
		fail(errno, "no port");
	// Both families have the port at the same place.
	where_.port = ntohs(reinterpret_cast<const sockaddr_in *>(&own.storage)->sin_port);
}

server::~server()
{
	uint64_t one = 1;

	if (!thread_.joinable())
		return;
	if (write(stop_.get(), &one, sizeof(one)) != sizeof(one))
		abort();
	thread_.join();
}

void server::start(int size)
{
	blocked_signals blocked;

	thread_ = std::thread([this, size] {
		try {
			run(size);
		} catch (const std::exception &) {
			// Out of memory: the connections of ranks close, and ranks that come later wait for the limit.
		}
	});
}

void server::run(int size)
{
	std::vector<guest> guests;

	for (;;) {
		std::vector<pollfd> all = { { stop_.get(), POLLIN, 0 }, { listener_.get(), POLLIN, 0 } };
		size_t complete = 0;

		for (const auto &one : guests)
			all.push_back({ one.fd.get(), POLLIN, 0 });
		if (poll(all.data(), all.size(), -1) < 0 && errno != EINTR)
			return;
		if (all[0].revents)
			return;
		for (size_t i = guests.size(); i-- > 0;)
			if (all[i + 2].revents && !take_in(guests[i], where_, size))
				guests.erase(guests.begin() + static_cast<ptrdiff_t>(i));
		drop_older(guests);
		if (all[1].revents && !accept_one(listener_.get(), guests, size))
			poll(all.data(), 1, retry_ms);
		for (const auto &one : guests)
			complete += one.is_complete;
		if (complete == static_cast<size_t>(size))
			break;
	}
	guests.erase(std::remove_if(guests.begin(), guests.end(),
				    [](const guest &one) { return !one.is_complete; }),
		     guests.end());
	answer(guests, stop_.get());
}

// ---- A rank ----

namespace
{

std::string name_of(const place &where)
{
	return "rank 0 at " + where.host + " port " + std::to_string(where.port);
}

void wait_for(int fd, short events, moment deadline, const std::string &what)
{
	pollfd one = { fd, events, 0 };
	int ready;

	do
		ready = poll(&one, 1, left_ms(deadline));
	while (ready < 0 && errno == EINTR);
	if (!ready)
		fail(ETIMEDOUT, what);
	if (ready < 0)
		fail(errno, what);
}

descriptor connect_to(const place &where, moment deadline)
{
	auto target = look_up(where.host, where.port);
	std::string what = "cannot reach " + name_of(where) + " (PADDLE_ACCEL_ADDRESS of rank 0 chooses "
			   "another address)";
	int err = 0;
	socklen_t size = sizeof(err);

	if (!target)
		throw failure(EINVAL, what);
	descriptor fd(socket(target->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd.get() < 0)
		fail(errno, "no socket");
	if (connect(fd.get(), target->get(), target->length)) {
		if (errno != EINPROGRESS)
			fail(errno, what);
		wait_for(fd.get(), POLLOUT, deadline, what);
		if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &err, &size) || err)
			fail(err ? err : errno, what);
	}
	return fd;
}

void send_all(int fd, const blob &data, moment deadline, const std::string &what)
{
	const char *at = data.data();
	size_t size = data.size();

	while (size) {
		wait_for(fd, POLLOUT, deadline, what);
		if (!send_some(fd, at, size))
			fail(ECONNRESET, what);
	}
}

void receive_all(int fd, void *data, size_t size, moment deadline, const std::string &what)
{
	char *at = static_cast<char *>(data);

	while (size) {
		ssize_t got;

		wait_for(fd, POLLIN, deadline, what);
		got = recv(fd, at, size, 0);
		if (!got)
			fail(ECONNRESET, what);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			fail(errno, what);
		at += std::max<ssize_t>(got, 0);
		size -= static_cast<size_t>(std::max<ssize_t>(got, 0));
	}
}

} // namespace

std::vector<blob> exchange(const place &where, int rank, int size, const blob &mine, moment deadline)
{
	greeting hello = { where.secret, static_cast<uint32_t>(rank), static_cast<uint32_t>(size),
			   static_cast<uint32_t>(mine.size()) };
	std::string what = "waiting for all " + std::to_string(size) + " ranks through " + name_of(where);
	descriptor fd = connect_to(where, deadline);
	std::vector<blob> all(static_cast<size_t>(size));
	blob out(sizeof(hello));

	memcpy(out.data(), &hello, sizeof(hello));
	out.insert(out.end(), mine.begin(), mine.end());
	send_all(fd.get(), out, deadline, what);
	for (auto &one : all) {
		length_word length;

		receive_all(fd.get(), &length, sizeof(length), deadline, what);
		if (length > most_bytes)
			fail(EPROTO, what);
		one.resize(length);
		receive_all(fd.get(), one.data(), length, deadline, what);
	}
	return all;
}

} // namespace rendezvous
