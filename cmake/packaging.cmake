# What stands beside the program when it is installed, and the Debian package of all of it
# (`cpack` in the build folder of the preset `package`; `./dev package` does it).
#
# Units name the program where it will be. /etc is left to the package, which never replaces what is
# there: its maintainer scripts copy the configuration from share/onefold when it is first installed.

include(GNUInstallDirs)

set(units onefold.service onefold-coordinator.service onefold-worker.service)
foreach(unit ${units})
  file(READ ${PROJECT_SOURCE_DIR}/deploy/systemd/${unit} text)
  string(REPLACE "/usr/bin/onefold" "${CMAKE_INSTALL_FULL_BINDIR}/onefold" text "${text}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/systemd/${unit} CONTENT "${text}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/deploy/systemd/${unit})
  install(FILES ${PROJECT_BINARY_DIR}/systemd/${unit} DESTINATION lib/systemd/system)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/onefold.sysusers DESTINATION lib/sysusers.d
        RENAME onefold.conf)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/deploy/config/ DESTINATION ${CMAKE_INSTALL_DATADIR}/onefold/config
        FILES_MATCHING PATTERN "*.yaml")
if(NOT ONEFOLD_STATIC_WORKER)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_BINARY_DIR}/completions/onefold
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${PROJECT_BINARY_DIR}/completions/_onefold
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(FILES ${PROJECT_BINARY_DIR}/completions/onefold.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(FILES README.md docs/operations.md docs/security.md docs/json.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME onefold)
set(CPACK_PACKAGE_VENDOR onefold)
set(CPACK_PACKAGE_CONTACT "onefold <onefold@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Schedules are in local time; the coordinator's user is made by systemd-sysusers.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "tzdata, systemd | systemd-standalone-sysusers | systemd-sysusers")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "systemd, ca-certificates")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "frees space on btrfs by folding equal data into one copy")
set(CPACK_PACKAGE_DESCRIPTION
    "onefold finds data that lies on a btrfs filesystem more than once and lets
the kernel fold it into one copy. It reads btrfs's checksums, not files. It
runs by hand, by its own schedule (onefold.service), or as a fleet: one
coordinator (onefold-coordinator.service) and a worker on each host
(onefold-worker.service). Installing it starts none of the services.")
set(maintainer_scripts "")
foreach(script postinst prerm postrm)
  list(APPEND maintainer_scripts ${PROJECT_SOURCE_DIR}/deploy/debian/${script})
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${maintainer_scripts})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
