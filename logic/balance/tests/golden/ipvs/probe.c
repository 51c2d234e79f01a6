// Sends a packet of an established TCP connection for each "client port destination flag" line of its input, from that port to port
// 80, with the firewall mark of its argument (0 = none); the flag is "ack", or "rst" to end the connection. The addresses need not be anybody's, and nobody answers.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void fail(const char *what) {
    perror(what);
    puts("FAILED");
    exit(1);
}

static struct tcphdr segment(unsigned port, const char *flag) {
    return (struct tcphdr){.source = htons(port), .dest = htons(80), .doff = 5, .ack = 1, .rst = flag[0] == 'r', .window = htons(1024)};
}

// The kernel fills the rest of the IP header in; nobody looks at TCP's checksum.
static ssize_t send_four(int fd, const char *client, unsigned port, const char *where, const char *flag, size_t *size) {
    struct { struct iphdr ip; struct tcphdr tcp; } packet = {
        .ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP, .tot_len = htons(sizeof packet)},
        .tcp = segment(port, flag),
    };
    struct sockaddr_in to = {.sin_family = AF_INET};
    struct in_addr from;
    if (!inet_aton(client, &from) || !inet_aton(where, &to.sin_addr)) fail("address");
    packet.ip.saddr = from.s_addr;
    packet.ip.daddr = to.sin_addr.s_addr;
    *size = sizeof packet;
    return sendto(fd, &packet, sizeof packet, 0, (struct sockaddr *)&to, sizeof to);
}

static ssize_t send_six(int fd, const char *client, unsigned port, const char *where, const char *flag, size_t *size) {
    struct { struct ip6_hdr ip; struct tcphdr tcp; } packet = {.tcp = segment(port, flag)};
    packet.ip.ip6_vfc = 6 << 4;
    packet.ip.ip6_plen = htons(sizeof packet.tcp);
    packet.ip.ip6_nxt = IPPROTO_TCP;
    packet.ip.ip6_hlim = 64;
    struct sockaddr_in6 to = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET6, client, &packet.ip.ip6_src) != 1 || inet_pton(AF_INET6, where, &to.sin6_addr) != 1) fail("address");
    packet.ip.ip6_dst = to.sin6_addr;
    *size = sizeof packet;
    return sendto(fd, &packet, sizeof packet, 0, (struct sockaddr *)&to, sizeof to);
}

static int raw(int family, int mark) {
    int fd = socket(family, SOCK_RAW, IPPROTO_RAW);
    if (fd < 0) fail("socket");
    if (mark && setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark)) fail("mark");
    return fd;
}

int main(int argc, char **argv) {
    int mark = argc > 1 ? atoi(argv[1]) : 0;
    char client[64], where[64], flag[8];
    unsigned port;
    int four = raw(AF_INET, mark), six = raw(AF_INET6, mark);
    while (scanf("%63s %u %63s %7s", client, &port, where, flag) == 4) {
        size_t size;
        ssize_t sent = strchr(client, ':') ? send_six(six, client, port, where, flag, &size)
                                           : send_four(four, client, port, where, flag, &size);
        // It is not permitted where the kernel finds no server for the packet.
        if (sent != (ssize_t)size && errno != EPERM) fail("send");
    }
    return 0;
}
