# bash completion for ulpscope: commands, options, their choices, causes, dumps. What the program
# understands is read from its own help, so that this never falls behind.

_ulpscope_commands() { "$1" -h 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }
_ulpscope_causes() { NO_COLOR=1 "$1" explain 2>/dev/null | sed -n 's/^\([a-z][a-z0-9-]*\) .*/\1/p'; }

# The options of a command as its help lists them: "-o, --output DUMP" and so on.
_ulpscope_options() { "$1" "$2" --help 2>/dev/null | sed -n 's/^  \(-[^ ].*\)/\1/p' | sed 's/   *.*//'; }

# What follows an option: its placeholder, or nothing.
_ulpscope_placeholder() {
  _ulpscope_options "$1" "$2" | sed -n "s/^\(.*, \)\{0,1\}$3\(, [^ ]*\)\{0,1\} \([^ ]*\)$/\3/p"
}

_ulpscope() {
  local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$(_ulpscope_commands "$program") -h --help --version" -- "$current")
    return
  fi
  local command=${COMP_WORDS[1]} i
  # Behind `record ... --` stands another command line.
  if [[ $command == record || $command == check ]]; then
    for ((i = 2; i < COMP_CWORD; ++i)); do
      if [[ ${COMP_WORDS[i]} == -- ]]; then
        if declare -F _command_offset >/dev/null; then
          _command_offset $((i + 1))
        else
          mapfile -t COMPREPLY < <(compgen -f -- "$current")
        fi
        return
      fi
    done
  fi
  if [[ $previous == -* ]]; then
    local placeholder
    placeholder=$(_ulpscope_placeholder "$program" "$command" "$previous")
    case $placeholder in
      '') ;;
      *'|'*)
        mapfile -t COMPREPLY < <(compgen -W "${placeholder//|/ }" -- "$current")
        return
        ;;
      DUMP)
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
        ;;
      *FILE*)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
      *) return ;;
    esac
  fi
  if [[ $current == -* ]]; then
    local names
    names=$(_ulpscope_options "$program" "$command" | grep -oE -- '--?[a-z][a-z-]*')
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$current")
  elif [[ $command == explain ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_ulpscope_causes "$program")" -- "$current")
  elif [[ $command == compare ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
  fi
}

complete -o filenames -F _ulpscope ulpscope
