# The disk of a far machine, in a mount namespace of its own: disk.sh ROOT KEYS PROGRAM. Says `ready`, and holds it.
# It lasts as long as this process, also while the machine is off.
set -eu
root=$1 keys=$2 program=$3
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=256m disk "$root"
cd "$root"
mkdir -p usr etc/ssh proc sys dev tmp run root home/u var/tmp var/empty opt
for name in bin sbin lib lib32 lib64 libx32; do [ ! -e "/$name" ] || cp -P "/$name" .; done
# What Debian's packages have installed here is installed there.
mount --rbind /usr usr
mount --make-rslave usr
mount -o remount,ro,bind usr
chmod 1777 tmp var/tmp
cp /etc/ld.so.cache etc/ 2>/dev/null || :
cat >etc/passwd <<END
root:x:0:0:root:/root:/bin/sh
sshd:x:100:100::/run/sshd:/usr/sbin/nologin
u:x:4711:4711::/home/u:/bin/bash
END
printf 'root:x:0:\nsshd:x:100:\nu:x:4711:\ntty:x:5:\n' >etc/group
printf 'root:*:1::::::\nsshd:*:1::::::\nu:*:1::::::\n' >etc/shadow
chown 4711:4711 home/u
cp "$keys/host" etc/ssh/host
cp "$keys/user.pub" etc/ssh/authorized
chmod 600 etc/ssh/host
cat >etc/ssh/config <<END
HostKey /etc/ssh/host
AuthorizedKeysFile /etc/ssh/authorized
StrictModes no
UsePAM no
PidFile none
PrintLastLog no
END
touch opt/bashd
mount --bind "$program" opt/bashd
mount -o remount,ro,bind opt/bashd
echo ready
exec sleep infinity
