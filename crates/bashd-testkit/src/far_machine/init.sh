# The first process of a far machine, in namespaces of its own: init.sh ROOT. It keeps an sshd running.
set -eu
cd "$1"
mount -t proc proc proc
mount -t tmpfs -o mode=755 dev dev
for name in null zero full random urandom tty; do
  touch "dev/$name"
  mount --bind "/dev/$name" "dev/$name"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t tmpfs -o mode=755 run run
# Each start is one of its own, as the kernel's is not.
cat /proc/sys/kernel/random/uuid >run/boot
mount --bind run/boot proc/sys/kernel/random/boot_id
hostname far
mkdir -p old
pivot_root . old
cd /
umount -l /old
rmdir /old
mkdir -p /run/sshd
while :; do
  [ -e /run/no-sshd ] || /usr/sbin/sshd -D -e -f /etc/ssh/config || :
  sleep 0.05
done
