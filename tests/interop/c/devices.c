// Prints a line for each process: whether it can open its first device, and with which GID. With an argument it forks a child that
// does the same while its parent has the device open.

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ibv_context *open_first(const char *who)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_context *context = count > 0 ? ibv_open_device(list[0]) : NULL;
	char text[INET6_ADDRSTRLEN] = "-";
	union ibv_gid gid;

	if (context && ibv_query_gid(context, 1, 1, &gid) == 0)
		inet_ntop(AF_INET6, gid.raw, text, sizeof text);
	printf("%s %d %s\n", who, count, text);
	fflush(stdout);
	return context;
}

int main(int count, char **arguments)
{
	struct ibv_context *context = open_first("parent");

	(void)arguments;
	if (count > 1) {
		if (fork() == 0)
			return open_first("child") == NULL;
		wait(NULL);
	}
	return context == NULL;
}
