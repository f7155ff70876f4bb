package leash

import "syscall"

func tie(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }
