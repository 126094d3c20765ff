# What is installed, and the Debian packages: one for each of the components
#
#   cli      the program, its manual and completion, the documents: for whoever talks to a cluster
#   node     what an agent needs beside the program to run jobs, its unit and its configuration
#   control  what the machine with the server role has besides: local hosts, the example cluster
#
# Programs look for their helpers beside themselves and then in /usr/libexec/underway, so the prefix is /usr.
install(TARGETS underway RUNTIME DESTINATION bin COMPONENT cli)
install(TARGETS underway-keeper underway-fetch underway-pull underway-capsule-init underway-identify RUNTIME DESTINATION libexec/underway COMPONENT node)
install(TARGETS underway-init RUNTIME DESTINATION libexec/underway COMPONENT control)

# The name under which the program is Nomad's client. In a directory of its own, so that it meets no other program of
# that name: whoever wants it puts the directory into PATH (docs/how-to/use-the-nomad-command.md).
file(CREATE_LINK ../../../bin/underway ${CMAKE_BINARY_DIR}/generated/nomad SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/generated/nomad DESTINATION lib/underway/bin COMPONENT cli)

# Manual and completion are made from the commands' own descriptions by the program that was built.
set(generated ${CMAKE_BINARY_DIR}/generated/share)
add_custom_command(
  OUTPUT ${generated}/bash/underway ${generated}/man1/underway.1.gz
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${generated}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}/bash ${generated}/man1
  COMMAND underway completion bash > ${generated}/bash/underway
  COMMAND underway man ${generated}/man1
  COMMAND sh -c "gzip -n9 ${generated}/man1/*.1"
  DEPENDS underway COMMENT "Generating the manual and completion" VERBATIM)
add_custom_target(underway_manual ALL
  DEPENDS ${generated}/bash/underway ${generated}/man1/underway.1.gz)
add_custom_target(programs DEPENDS underway underway-keeper underway-fetch underway-pull underway-init underway-capsule-init underway-identify underway_manual)
install(DIRECTORY ${generated}/man1/ DESTINATION share/man/man1 COMPONENT cli)
install(FILES ${generated}/bash/underway DESTINATION share/bash-completion/completions COMPONENT cli)

# The repository's files and no others, by a list of them (packaging/files): in a checkout that is used lies what its
# owner made there, such as the images of a cluster and the key that signs them. The test `packaging` compares the list
# with the repository, and makes it.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/packaging/files)
file(STRINGS packaging/files UNDERWAY_FILES)
function(underway_install_files directory destination component)
  foreach(line ${UNDERWAY_FILES})
    if(line MATCHES "^(100644|100755) ${directory}/(.+)$")
      set(mode ${CMAKE_MATCH_1})
      set(path ${CMAKE_MATCH_2})
      set(kind FILES)
      if(mode STREQUAL 100755)
        set(kind PROGRAMS)
      endif()
      cmake_path(GET path PARENT_PATH below)
      install(${kind} ${directory}/${path} DESTINATION ${destination}/${below} COMPONENT ${component})
    endif()
  endforeach()
endfunction()
# As they lie in the repository, so that their links hold.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE SECURITY.md DESTINATION share/doc/underway-cli COMPONENT cli)
underway_install_files(docs share/doc/underway-cli/docs cli)
underway_install_files(examples share/doc/underway-control/examples control)
foreach(component cli node control)
  install(FILES packaging/debian/copyright DESTINATION share/doc/underway-${component} COMPONENT ${component})
endforeach()
install(FILES packaging/underway.service packaging/underway-server.service DESTINATION lib/systemd/system COMPONENT node)
# Below the prefix, but for /usr, whose configuration is in /etc. Decided when it is installed, as the prefix is. A file
# that is there belongs to the site.
install(CODE "
  set(etc \"\${CMAKE_INSTALL_PREFIX}/etc\")
  if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    set(etc /etc)
  endif()
  if(NOT EXISTS \"\$ENV{DESTDIR}\${etc}/underway/agent.hcl\")
    file(INSTALL DESTINATION \"\${etc}/underway\" TYPE FILE FILES \"${CMAKE_SOURCE_DIR}/packaging/agent.hcl\")
  endif()" COMPONENT node)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME underway)
set(CPACK_PACKAGE_VENDOR Underway)
set(CPACK_PACKAGE_CONTACT "Underway <underway@localhost>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL cli node control)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# The first line of each is its synopsis.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_COMPONENT_CLI_DESCRIPTION "${PROJECT_DESCRIPTION}: command line
The program with its manual and its documents. Without an agent on this machine it talks to one elsewhere.")
set(CPACK_COMPONENT_NODE_DESCRIPTION "${PROJECT_DESCRIPTION}: node
What the agent of a node needs to run the jobs of a cluster on this machine, each task under a keeper that outlives the
agent. Nothing is started by the installation.")
set(CPACK_COMPONENT_CONTROL_DESCRIPTION "${PROJECT_DESCRIPTION}: server
What the agent of a server needs to make hosts out of namespaces on this machine. With an example cluster.")
foreach(component cli node control)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME underway-${component})
endforeach()
set(CPACK_DEBIAN_CLI_PACKAGE_RECOMMENDS nftables)  # a survey of a machine's rules
set(CPACK_DEBIAN_NODE_PACKAGE_DEPENDS "underway-cli (= ${PROJECT_VERSION}), nftables")
set(CPACK_DEBIAN_NODE_PACKAGE_RECOMMENDS ca-certificates)  # artifacts by https
set(CPACK_DEBIAN_CONTROL_PACKAGE_DEPENDS "underway-node (= ${PROJECT_VERSION})")
# What the example cluster runs.
set(CPACK_DEBIAN_CONTROL_PACKAGE_SUGGESTS
    "slurmctld, slurmd, slurmdbd, slurm-client, munge, mariadb-server, mariadb-client, chrony")
set(CPACK_DEBIAN_NODE_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/debian/node/conffiles
  ${CMAKE_SOURCE_DIR}/packaging/debian/node/postinst ${CMAKE_SOURCE_DIR}/packaging/debian/node/prerm
  ${CMAKE_SOURCE_DIR}/packaging/debian/node/postrm)
include(CPack)
