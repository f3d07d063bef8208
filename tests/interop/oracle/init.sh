#!/bin/busybox sh
# The first process of the oracle: Soft-RoCE on eth0, and a shell at a TCP port that sees the host's files, which can't be written.

/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do
    insmod "/modules/$module.ko" || echo "oracle: $module can't be loaded"
done </modules/order

# The kernel hands on what it was started with and doesn't know.
ip link set lo up
ip address add "$oracle_address" dev eth0
ip link set eth0 mtu "$oracle_mtu" up

mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144,cache=loose host /host
# Room to write in, where it hides nothing of the host's.
mkdir -p /dev/shm
for folder in dev proc sys; do mount -o bind "/$folder" "/host/$folder"; done
mount -t tmpfs tmp /host/dev/shm
export TMPDIR=/dev/shm
chroot /host rdma link add rxe0 type rxe netdev eth0 || echo "oracle: there is no rxe0"

# One shell for each connection.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
nc -ll -p "$oracle_port" -e /bin/busybox chroot /host sh &
until netstat -ltn | grep -q ":$oracle_port "; do sleep 0.05; done
echo "oracle: ready"
wait
