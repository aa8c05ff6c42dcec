//! Who the machine is: machine-id(5), the DMI or device-tree UUID, the boot id.
