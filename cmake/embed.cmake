# Writes TO: the file FROM as the array table_<NAME>. For cmake -P (TequioTables.cmake).
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)"
       "\\1\n" bytes "${bytes}")
file(WRITE ${TO} "extern const char table_${NAME}[];\nconst char table_${NAME}[] = {\n${bytes}0};\n")
