// perftest connects twice, and hopes that its server listens again before its client asks again. A server on an emulated
// processor doesn't: with this library in LD_PRELOAD each request comes a little later.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *destination, int timeout)
{
	int (*resolve)(struct rdma_cm_id *, struct sockaddr *, struct sockaddr *, int) = dlsym(RTLD_NEXT, "rdma_resolve_addr");

	usleep(300000);
	return resolve(id, source, destination, timeout);
}
