# A Slurm of three nodes, in namespaces of its own. $1: its directory; $2: plugin that tracks processes; $3, $4, $5: its
# nodes; $6: the number of its first job. It does what it is told on stdin, a line each, and ends all of it at the end of
# that.
#
# A node is a namespace of processes: killing its first process is cutting its power.
set -eu
D=$1
track=$2
shift 2
nodes="$1 $2 $3"
first=$4
ip link set lo up
# Without an address beside loopback nobody looks even 127.0.0.1 up.
ip link add wire0 type veth peer name wire1
ip addr add 10.99.0.1/24 dev wire0
ip link set wire0 up
ip link set wire1 up
hostname login
mount --make-rprivate /
mount -t proc proc /proc
# Slurm has a login shell tell the environment of a batch script: what that runs here is none of ours.
for profile in .bash_profile .bash_login .profile; do
  [ ! -e ~/"$profile" ] || mount --bind /dev/null ~/"$profile"
done
chmod 755 "$D"
mkdir -p "$D/munge" "$D/state" "$D/spool" "$D/log" "$D/run" "$D/bin"
chmod 755 "$D/munge"
head -c 1024 /dev/urandom >"$D/munge/key"
chmod 600 "$D/munge/key"
{
  cat <<EOT
ClusterName=test
SlurmctldHost=login(10.99.0.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$D/munge/sock
CredType=cred/munge
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool/%n
SlurmctldPidFile=$D/run/slurmctld.pid
SlurmdPidFile=$D/run/slurmd.%n.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd.%n.log
SlurmdParameters=config_overrides
ReturnToService=2
ProctrackType=proctrack/$track
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
SlurmctldTimeout=30
SlurmdTimeout=5
InactiveLimit=0
MpiDefault=none
MinJobAge=300
KillWait=3
UnkillableStepTimeout=60
FirstJobId=$first
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,sched_interval=1,bf_interval=1
GresTypes=gpu
EOT
  port=17000
  for node in $nodes; do
    port=$((port + 1))
    echo "NodeName=$node NodeHostname=$node NodeAddr=10.99.0.1 Port=$port CPUs=8 RealMemory=4000 Gres=gpu:2"
  done
  echo "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 OverSubscribe=NO"
  echo "PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF"
} >"$D/slurm.conf"
cat >"$D/cgroup.conf" <<EOT
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
EOT
for node in $nodes; do
  echo "NodeName=$node Name=gpu File=/dev/null"
  echo "NodeName=$node Name=gpu File=/dev/zero"
done >"$D/gres.conf"
export SLURM_CONF="$D/slurm.conf"

start() {
  case $1 in
    munged)
      munged --force --key-file="$D/munge/key" --socket="$D/munge/sock" --pid-file="$D/run/munged.pid" \
        --log-file="$D/log/munged.log" --seed-file="$D/munge/seed" >/dev/null 2>&1
      ;;
    slurmctld) slurmctld >"$D/log/slurmctld.out" 2>&1 ;;
    # The login as a host of its own: who logs in as root finds Slurm's programs.
    sshd)
      mkdir -p "$D/ssh/bin"
      for key in host user; do [ -e "$D/ssh/$key" ] || ssh-keygen -q -t ed25519 -N "" -f "$D/ssh/$key"; done
      # Where nobody may log in as root, that is not so here.
      printf 'root:*:1::::::\nsshd:*:1::::::\n' >"$D/ssh/shadow"
      cat >"$D/ssh/sshd_config" <<EOT
ListenAddress 10.99.0.1
Port 16822
HostKey $D/ssh/host
AuthorizedKeysFile $D/ssh/user.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PidFile $D/run/sshd.pid
PrintLastLog no
SetEnv SLURM_CONF=$D/slurm.conf
EOT
      cat >"$D/ssh/config" <<EOT
Host login
HostName 10.99.0.1
Port 16822
User root
IdentityFile $D/ssh/user
IdentitiesOnly yes
IdentityAgent none
HostKeyAlias login
UserKnownHostsFile $D/ssh/known
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
EOT
      { printf 'login '; cat "$D/ssh/host.pub"; } >"$D/ssh/known"
      unshare --mount sh -c 'mount --bind "$1/shadow" /etc/shadow; mount -t tmpfs run /run; mkdir /run/sshd
        exec /usr/sbin/sshd -f "$1/sshd_config"' sshd "$D/ssh" >"$D/log/sshd.out" 2>&1
      ;;
    slurmd) # in its node
      nsenter --target "$(cat "$D/run/$2.first")" --pid --mount --uts slurmd -N "$2" >"$D/log/slurmd.out" 2>&1
      ;;
    node)
      rm -f "$D/run/$2.up"
      unshare --pid --fork --kill-child --mount --mount-proc --uts \
        sh -c 'hostname "$1"; slurmd -N "$1" && : >"$2/run/$1.up"; sleep 1000000 & while :; do wait; done' \
        "$2" "$2" "$D" >"$D/log/$2.out" 2>&1 </dev/null &
      node_of=$!
      while [ ! -e "$D/run/$2.up" ]; do kill -0 $node_of || return 1; sleep 0.01; done
      tr -d ' ' <"/proc/$node_of/task/$node_of/children" >"$D/run/$2.first"
      ;;
  esac
}

killed() {
  case $1 in
    node) kill -KILL "$(cat "$D/run/$2.first")" ;;
    # The number is that of the node's namespace.
    slurmd) nsenter --target "$(cat "$D/run/$2.first")" --pid kill -KILL "$(cat "$D/run/slurmd.$2.pid")" ;;
    # In order, so that it saves what it knows: killed, it forgets the jobs of its last seconds.
    slurmctld)
      kill -TERM "$(cat "$D/run/slurmctld.pid")"
      while kill -0 "$(cat "$D/run/slurmctld.pid" 2>/dev/null || echo none)" 2>/dev/null; do sleep 0.05; done
      ;;
    *) kill -KILL "$(cat "$D/run/$1.pid")" && rm -f "$D/run/$1.pid" ;;
  esac
}

start munged
start slurmctld
for node in $nodes; do start node "$node"; done
echo ready
while read -r what which more; do
  case $what in
    start) start "$which" "$more" ;;
    kill) killed "$which" "$more" ;;
  esac
  echo "$what"
done
for node in $nodes; do killed node "$node" || true; done
# What the plugin leaves of its groups.
for node in $nodes; do
  find /sys/fs/cgroup/freezer/slurm_"$node" -depth -type d -exec rmdir {} + 2>/dev/null || true
done
