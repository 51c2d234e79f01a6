// Sends a packet of an established TCP connection for each "client port destination flag" line of its input, from that port to port
// 80, with the firewall mark of its argument (0 = none); the flag is "ack", or "rst" to end the connection. The addresses need not be anybody's, and nobody answers.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static void fail(const char *what) {
    perror(what);
    puts("FAILED");
    exit(1);
}

int main(int argc, char **argv) {
    int mark = argc > 1 ? atoi(argv[1]) : 0;
    char client[64], where[64], flag[8];
    unsigned port;
    int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
    if (fd < 0) fail("socket");
    if (mark && setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark)) fail("mark");
    while (scanf("%63s %u %63s %7s", client, &port, where, flag) == 4) {
        // The kernel fills the rest of the IP header in; nobody looks at TCP's checksum.
        struct { struct iphdr ip; struct tcphdr tcp; } packet = {
            .ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP, .tot_len = htons(sizeof packet)},
            .tcp = {.source = htons(port), .dest = htons(80), .doff = 5, .ack = 1, .rst = flag[0] == 'r', .window = htons(1024)},
        };
        struct sockaddr_in to = {.sin_family = AF_INET};
        struct in_addr from;
        if (!inet_aton(client, &from) || !inet_aton(where, &to.sin_addr)) fail("address");
        packet.ip.saddr = from.s_addr;
        packet.ip.daddr = to.sin_addr.s_addr;
        ssize_t sent = sendto(fd, &packet, sizeof packet, 0, (struct sockaddr *)&to, sizeof to);
        // It is not permitted where the kernel finds no server for the packet.
        if (sent != sizeof packet && errno != EPERM) fail("send");
    }
    return 0;
}
