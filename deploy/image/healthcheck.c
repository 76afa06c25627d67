/*
 * Requests a page from a server, for the images' health checks, which start this program every 10 s. A start of Node takes a hundred times
 * as long, and an image without a shell has nothing else.
 *
 * Usage: healthcheck PATH. The variable HEALTHCHECK_ADDRESS has the address, in the form of admin.bind: HOST:PORT, :PORT,
 * [IPV6]:PORT or unix:/FILE.
 *
 * Exit code 0: the answer has status 200. 1: another status, or no answer within 3 s. Docker keeps the output.
 */
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { limit_s = 3 };

static const char *path;
static const char *address;
static char late[512];

static int no_answer(const char *why) {
  fprintf(stderr, "%s at %s: no answer (%s). If the server is elsewhere, set HEALTHCHECK_ADDRESS.\n", path, address, why);
  return EXIT_FAILURE;
}

static int misused(const char *fix) {
  fprintf(stderr, "%s\n", fix);
  return EXIT_FAILURE;
}

/* A handler may not format, so the message is made beforehand. */
static void give_up(int signal) {
  (void)signal;
  ssize_t written = write(STDERR_FILENO, late, strlen(late));
  (void)written;
  _exit(EXIT_FAILURE);
}

static int connect_unix(const char *file) {
  struct sockaddr_un where = {.sun_family = AF_UNIX};
  if (strlen(file) >= sizeof where.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(where.sun_path, file);
  int server = socket(AF_UNIX, SOCK_STREAM, 0);
  return server >= 0 && connect(server, (struct sockaddr *)&where, sizeof where) == 0 ? server : -1;
}

/* Connects to the first of the host's addresses that accepts a connection. */
static int connect_tcp(const char *host, const char *port) {
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  struct addrinfo *found = NULL;
  if (getaddrinfo(host, port, &hints, &found) != 0) {
    errno = EADDRNOTAVAIL;
    return -1;
  }
  int server = -1;
  for (const struct addrinfo *each = found; each != NULL && server < 0; each = each->ai_next) {
    int trying = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
    if (trying >= 0 && connect(trying, each->ai_addr, each->ai_addrlen) == 0) server = trying;
  }
  freeaddrinfo(found);
  return server;
}

/* A server that listens on every address listens on loopback too. */
static int connect_to(const char *where) {
  if (strncmp(where, "unix:", 5) == 0) return connect_unix(where + 5);
  char host[256];
  const char *colon = strrchr(where, ':');
  size_t length = colon == NULL ? sizeof host : (size_t)(colon - where);
  if (length >= sizeof host) {
    errno = EINVAL;
    return -1;
  }
  int is_ipv6 = length > 2 && where[0] == '[' && where[length - 1] == ']';
  snprintf(host, sizeof host, "%.*s", (int)length - 2 * is_ipv6, where + is_ipv6);
  return connect_tcp(length == 0 ? "127.0.0.1" : host, colon + 1);
}

static int send_all(int server, const char *text) {
  for (size_t sent = 0, all = strlen(text); sent < all;) {
    ssize_t count = send(server, text + sent, all - sent, MSG_NOSIGNAL);
    if (count < 0) return -1;
    sent += (size_t)count;
  }
  return 0;
}

/* Reads until the server closes or the buffer is full. */
static ssize_t receive(int server, char *into, size_t room) {
  size_t received = 0;
  for (ssize_t count = 1; count > 0 && received < room; received += (size_t)count) {
    count = recv(server, into + received, room - received, 0);
    if (count < 0) return -1;
  }
  return (ssize_t)received;
}

int main(int count, char **arguments) {
  path = count == 2 ? arguments[1] : "";
  address = getenv("HEALTHCHECK_ADDRESS");
  if (path[0] != '/' || strlen(path) > 128) return misused("Usage: healthcheck PATH, where the path begins with a slash.");
  if (address == NULL || strlen(address) > 256) return misused("Set HEALTHCHECK_ADDRESS, like 127.0.0.1:7412.");

  snprintf(late, sizeof late, "%s at %s: no answer (none within %d s).\n", path, address, limit_s);
  signal(SIGALRM, give_up);
  alarm(limit_s);

  int server = connect_to(address);
  if (server < 0) return no_answer(strerror(errno));
  /* With HTTP/1.0 the answer ends with the connection. */
  char request[256];
  snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
  char response[4096];
  if (send_all(server, request) < 0) return no_answer(strerror(errno));
  ssize_t length = receive(server, response, sizeof response - 1);
  if (length < 0) return no_answer(strerror(errno));
  response[length] = '\0';

  int status = 0;
  if (sscanf(response, "HTTP/1.%*1[01] %3d", &status) != 1) return no_answer("what came is not HTTP");
  int is_well = status == 200;
  fprintf(is_well ? stdout : stderr, "%s at %s: %d\n", path, address, status);
  return is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}
